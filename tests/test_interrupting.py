from __future__ import annotations

import os
import signal

import pytest

from itransf.interrupting import noticing_interrupts


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_noticed_and_the_second_stops(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with noticing_interrupts() as event:
        assert not event.is_set()
        os.kill(os.getpid(), number)
        assert event.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before
