"""Teaching a trained model: new relations and entities from few triples, updates, and concepts edited by hand."""

from itransf.teaching.edit import REFIT as REFIT
from itransf.teaching.edit import REFIT_EPOCHS as REFIT_EPOCHS
from itransf.teaching.edit import Place as Place
from itransf.teaching.edit import edit_concepts as edit_concepts
from itransf.teaching.edit import refit as refit
from itransf.teaching.fit_rows import Effort as Effort
from itransf.teaching.learn import ENTITY_EFFORT as ENTITY_EFFORT
from itransf.teaching.learn import RELATION_EFFORT as RELATION_EFFORT
from itransf.teaching.learn import find_closest as find_closest
from itransf.teaching.learn import learn_entity as learn_entity
from itransf.teaching.learn import learn_relation as learn_relation
from itransf.teaching.update import UPDATE as UPDATE
from itransf.teaching.update import Given as Given
from itransf.teaching.update import Growth as Growth
from itransf.teaching.update import grow_graph as grow_graph
from itransf.teaching.update import update_model as update_model
