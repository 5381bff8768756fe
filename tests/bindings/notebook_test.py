"""docs/python.ipynb runs to its end. Skipped where Jupyter's or the notebook's packages are missing (Debian: python3-nbconvert,
python3-ipykernel, python3-pandas, python3-matplotlib, for /usr/bin/python3)."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import llmcalc

PACKAGES = ("nbconvert", "ipykernel", "pandas", "matplotlib")
MISSING = [name for name in PACKAGES if importlib.util.find_spec(name) is None]


@unittest.skipIf(MISSING, f"{sys.executable} has no {', '.join(MISSING)}")
class Notebook(unittest.TestCase):
    def test_the_notebook_runs(self):
        notebook = pathlib.Path(__file__).parents[2] / "docs" / "python.ipynb"
        with tempfile.TemporaryDirectory() as folder:
            kernel = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                      "display_name": "Python 3", "language": "python"}
            place = pathlib.Path(folder) / "kernels" / "python3"
            place.mkdir(parents=True)
            (place / "kernel.json").write_text(json.dumps(kernel))
            package = os.path.dirname(os.path.dirname(os.path.abspath(llmcalc.__file__)))
            environment = {**os.environ, "PYTHONPATH": package, "JUPYTER_PATH": folder, "HOME": folder}
            subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", notebook,
                            "--output-dir", folder], check=True, env=environment, capture_output=True)
            cells = json.loads((pathlib.Path(folder) / "python.ipynb").read_text(encoding="utf-8"))["cells"]
        outputs = [kind for cell in cells for one in cell.get("outputs", []) for kind in one.get("data", {})]
        self.assertGreaterEqual(outputs.count("text/html"), 3)  # two answers and the table
        self.assertIn("image/png", outputs)


if __name__ == "__main__":
    unittest.main()
