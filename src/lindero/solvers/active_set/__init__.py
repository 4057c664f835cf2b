"""The optimum kept while the problem changes. The mathematics is at the top of `engine`."""

from lindero.solvers.active_set.engine import ActiveSet as ActiveSet
from lindero.solvers.active_set.motion import BREAKDOWNS as BREAKDOWNS
from lindero.solvers.active_set.motion import BreakdownError as BreakdownError
from lindero.solvers.active_set.motion import UnboundedError as UnboundedError
from lindero.solvers.active_set.point import Point as Point
