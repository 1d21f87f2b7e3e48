"""The exact scheduler's solver: loaded with what it needs, and nobody else sees that."""

import subprocess
import sys

ALONE = """
import sys
from passes.scheduling.solver import solver
own = solver()
assert "pandas" not in sys.modules
model, number = own.CpModel(), own.CpSolver()
place = model.new_int_var(0, 9, "")
model.maximize(place)
assert number.solve(model) == own.OPTIMAL and number.value(place) == 9
"""

BESIDE = """
import pandas
from ortools.sat.python import cp_model
assert cp_model is not own and cp_model.pd is pandas
numbers = cp_model.CpModel().new_int_var_series("n", pandas.Index([1, 2]), 0, 9)
assert isinstance(numbers, pandas.Series)
"""


def test_the_solver_is_loaded_without_tables_and_others_have_them() -> None:
    subprocess.run((sys.executable, "-c", ALONE + BESIDE), check=True)
