"""Pages a person opens in a browser: self-contained HTML without a network, built of small pieces."""
