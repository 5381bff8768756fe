"""The Python package: attributes, errors, inputs, sweeps. The folder of the package is on PYTHONPATH, or it is installed."""

import ast
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

import llmcalc

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 256,
    "max_position_embeddings": 64,
}


class Answers(unittest.TestCase):
    def test_values_are_attributes_and_dotted_paths(self):
        answer = llmcalc.params("gpt-3-175b")
        self.assertEqual(answer.parameters.total, 174604259328)  # the sum of its tensors; the paper rounds it to 175.0 B
        self.assertEqual(answer["parameters.total"], answer.to_dict()["parameters"]["total"])
        self.assertIn("parameters.total", answer)
        self.assertNotIn("parameters.totals", answer)
        self.assertEqual(answer.get("parameters.totals", 5), 5)

    def test_keys_that_are_no_names_are_in_brackets_or_end_with_an_underscore(self):
        self.assertGreater(llmcalc.flops("gpt2")["flops.formulas.6nd"], 0)
        answer = llmcalc.train("llama-3.1-8b", hardware="h100", gpus=64, tp=8)
        self.assertEqual(answer.estimate.class_, answer["estimate.class"])

    def test_dir_lists_the_values(self):
        answer = llmcalc.train("gpt2", hardware="h100")
        self.assertLessEqual({"step", "memory", "to_dict", "json"}, set(dir(answer)))
        self.assertIn("time_s", dir(answer.step))

    def test_a_wrong_attribute_names_the_nearest_value(self):
        with self.assertRaisesRegex(AttributeError, "did you mean 'step'"):
            llmcalc.train("gpt2", hardware="h100").stepp
        self.assertFalse(hasattr(llmcalc.params("gpt2").parameters, "_repr_png_"))

    def test_json_is_the_text_of_the_library(self):
        answer = llmcalc.params("gpt2")
        self.assertEqual(answer.json(), llmcalc.ask_json('{"command": "params", "model": "gpt2"}'))
        self.assertEqual(json.loads(answer.json()), answer.to_dict())

    def test_to_dict_belongs_to_the_caller(self):
        answer = llmcalc.params("gpt2")
        answer.to_dict()["parameters"]["total"] = 0
        self.assertEqual(answer.parameters.total, 124439808)

    def test_the_text_is_the_short_answer(self):
        text = repr(llmcalc.train("llama-3.1-8b", hardware="h100", gpus=64, tp=8))
        self.assertTrue(text.startswith("Llama-3.1-8B on 64 x H100 SXM 80GB\n"), text)
        self.assertIn("\nmemory    #", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_html_has_a_memory_bar_and_escaped_text(self):
        config = {**CONFIG, "_name_or_path": "<script>"}
        html = llmcalc.train(config, hardware={**llmcalc.show("h100").to_dict(), "title": "<b>&\"'"})._repr_html_()
        self.assertIn("display:flex", html)
        self.assertIn("&lt;b&gt;&amp;&quot;&#39;", html)
        for part in ("<b>&\"", "<script", "http:", "https:"):
            self.assertNotIn(part, html)

    def test_html_of_other_answers_is_text(self):
        self.assertTrue(llmcalc.show("gpt2")._repr_html_().startswith("<pre>{"))

    def test_an_answer_has_its_request_and_can_be_pickled(self):
        answer = llmcalc.train("gpt2", hardware="h100", tp=2)
        self.assertEqual(answer.request["inputs"], {"tp": 2})
        self.assertEqual(llmcalc.ask(answer.request), answer)
        self.assertEqual(pickle.loads(pickle.dumps(answer)), answer)


class Commands(unittest.TestCase):
    CALLS = {
        "params": lambda f: f("gpt2"),
        "memory": lambda f: f("gpt2", train=True),
        "flops": lambda f: f("gpt2"),
        "train": lambda f: f("gpt2", hardware="h100"),
        "infer": lambda f: f("gpt2", hardware="h100"),
        "report": lambda f: f("gpt2", hardware="h100"),
        "plan_train": lambda f: f("gpt2", hardware="h100", gpus=2),
        "plan_serve": lambda f: f("gpt2", hardware="h100", rate=1, slo_tpot="50ms"),
        "serve": lambda f: f("gpt2", hardware="h100", rate=1, num_requests=20),
        "fit": lambda f: f("gpt2", hardware="h100"),
        "explain": lambda f: f("step.time_s", "gpt2", hardware="h100"),
        "diagnose": lambda f: f(pathlib.Path(__file__).parents[1] / "cli" / "logs" / "vllm-fp8.log"),
        "scaling": lambda f: f(compute=5.76e23),
        "collective": lambda f: f("all-reduce", bytes="1GiB", ranks=8, hardware="h100"),
        "list": lambda f: f("models"),
        "show": lambda f: f("h100"),
        "import_": lambda f: f(CONFIG),
        "compare": lambda f: f(llmcalc.params("gpt2"), {"command": "params", "model": "llama-3.1-8b"}),
    }

    def test_every_command_is_a_function(self):
        functions = {name for name in llmcalc.__all__ if getattr(getattr(llmcalc, name), "__signature__", None)}
        self.assertEqual(functions, set(self.CALLS))
        for name, call in self.CALLS.items():
            with self.subTest(name):
                answer = call(getattr(llmcalc, name))
                self.assertTrue(answer.json())
                self.assertTrue(repr(answer))

    def test_functions_describe_their_inputs(self):
        signature = inspect.signature(llmcalc.train)
        self.assertEqual(list(signature.parameters)[0], "model")
        self.assertIn("micro_batch", signature.parameters)
        self.assertIn("  micro_batch: N: ", inspect.getdoc(llmcalc.train))
        self.assertIn("from_", signature.parameters)
        self.assertNotIn("--", llmcalc.train.__doc__)

    def test_stubs_list_the_functions_and_their_inputs(self):
        path = os.path.join(os.path.dirname(llmcalc.__file__), "__init__.pyi")
        with open(path, encoding="utf-8") as file:
            stubs = ast.parse(file.read())
        functions = {node.name: node for node in stubs.body if isinstance(node, ast.FunctionDef)}
        for name in self.CALLS:
            arguments = functions[name].args
            names = [a.arg for a in (*arguments.args, *arguments.kwonlyargs, *filter(None, [arguments.vararg]))]
            self.assertEqual(names, list(inspect.signature(getattr(llmcalc, name)).parameters), name)
        answer = next(node for node in stubs.body if isinstance(node, ast.ClassDef) and node.name == "Answer")
        values = {node.target.id for node in answer.body if isinstance(node, ast.AnnAssign)}
        self.assertLessEqual(set(llmcalc.train("gpt2", hardware="h100").to_dict()), values)

    def test_a_config_is_a_dictionary_a_file_or_a_folder(self):
        expected = llmcalc.params(CONFIG).parameters
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps({**CONFIG, "rope_theta": float("inf")}))
            for model in (path, str(path), pathlib.Path(folder), folder):
                self.assertEqual(llmcalc.params(model).parameters, expected)

    def test_quantities_are_numbers_in_base_units_or_text(self):
        one = llmcalc.collective("all-reduce", bytes=2**30, ranks=8, hardware="h100")
        other = llmcalc.collective("all-reduce", bytes="1GiB", ranks=8, hardware="h100")
        self.assertEqual(one, other)


class Mistakes(unittest.TestCase):
    def refused(self, call, key, part):
        with self.assertRaises(llmcalc.InputError) as caught:
            call()
        self.assertEqual(caught.exception.key, key)
        self.assertIn(part, str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)

    def test_errors_have_the_sentence_and_the_key(self):
        self.refused(lambda: llmcalc.train("gpt2", hardware="h100", tp=5), "tp", "does not divide the 12 attention heads")
        self.refused(lambda: llmcalc.train("gpt2", hardware="h10"), "hardware", "unknown preset")
        self.refused(lambda: llmcalc.train("gpt2", hardware="h100", gpu=8), "gpu", "did you mean \"gpus\"")
        self.refused(lambda: llmcalc.train("gpt2"), None, "needs")
        self.refused(lambda: llmcalc.params(), None, "needs")
        self.refused(lambda: llmcalc.params("./absent.json"), "model", "cannot read")
        self.refused(lambda: llmcalc.params(5), "model", "expected")

    def test_values_that_json_lacks_are_refused(self):
        circular = {}
        circular["a"] = circular
        deep = []
        for _ in range(100000):
            deep = [deep]
        for value in (float("nan"), float("inf"), object(), circular, deep, {1, 2}, b"8"):
            with self.assertRaises(llmcalc.InputError):
                llmcalc.train("gpt2", hardware="h100", tp=value)

    def test_text_that_is_no_request_is_answered_with_an_error(self):
        for text in ("", "[", "null", "\0", '{"command": "params"}\0', "\ud800", "[" * 100000, "1" * (100 << 20)):
            self.assertEqual(json.loads(llmcalc.ask_json(text))["error"]["exit_code"], 2)

    def test_words_by_position_are_counted(self):
        self.assertRaises(TypeError, llmcalc.params, "gpt2", "gpt3")
        self.assertRaises(TypeError, lambda: llmcalc.params("gpt2", model="gpt3"))


class Many(unittest.TestCase):
    def test_many_answers_equal_single_ones_and_have_errors_in_place(self):
        requests = [{"command": "params", "model": name} for name in ("gpt2", "gpt9", "llama-3.1-8b")]
        answers = llmcalc.ask_many(requests)
        self.assertEqual(answers[0].json(), llmcalc.params("gpt2").json())
        self.assertIsInstance(answers[1], llmcalc.InputError)
        self.assertEqual(answers[2].json(), llmcalc.params("llama-3.1-8b").json())
        self.assertEqual(llmcalc.ask_many([]), [])

    def test_threads_get_the_answers_of_one_thread(self):
        expected = llmcalc.train("llama-3.1-8b", hardware="h100", gpus=64, tp=8).json()
        found = []

        def work():
            for _ in range(20):
                found.append(llmcalc.train("llama-3.1-8b", hardware="h100", gpus=64, tp=8).json())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [expected] * 80)


class Sweeps(unittest.TestCase):
    FIELDS = ["step.time_s", "memory.peak_bytes", "layout.dp", "verdict.fit", "inputs.seq"]

    def rows_equal_answers(self, rows, keys, command="train", **base):
        for row in rows:
            inputs = {**base, **{key: row[key] for key in keys}}
            try:
                answer = getattr(llmcalc, command)(inputs.pop("model"), **inputs)
                expected = {field: answer.get(field) for field in self.FIELDS}
                expected["error"] = None
            except llmcalc.InputError as error:
                expected = {**dict.fromkeys(self.FIELDS), "error": str(error)}
            self.assertEqual(row, {**{key: row[key] for key in keys}, **expected})

    def test_lists_are_combined_and_rows_equal_answers(self):
        rows = llmcalc.sweep("train", ["gpt2", "llama-3.1-8b"], hardware=["h100", "a100"], gpus=64, tp=[1, 5, 8],
                             sp=[True, False], seq=["1k", 2048], fields=self.FIELDS)
        self.assertEqual(len(rows), 48)
        self.assertEqual([row["tp"] for row in rows[:12]], [1] * 4 + [5] * 4 + [8] * 4)
        self.rows_equal_answers(rows, ["model", "hardware", "tp", "sp", "seq"], gpus=64)

    def test_points_are_rows(self):
        points = [{"tp": 1, "micro_batch": 4}, {"tp": 2, "micro_batch": 1}, {"tp": 7, "micro_batch": 1}]
        rows = llmcalc.sweep("train", "gpt2", hardware="h100", points=points, fields=self.FIELDS)
        self.assertEqual([{"tp": row["tp"], "micro_batch": row["micro_batch"]} for row in rows], points)
        self.rows_equal_answers(rows, ["tp", "micro_batch"], model="gpt2", hardware="h100")

    def test_ranges_have_the_syntax_of_the_command_line(self):
        rows = llmcalc.sweep("memory", "gpt2", train=True, ranges={"micro_batch": "1..64x2"}, fields="memory.peak_bytes")
        self.assertEqual([row["micro_batch"] for row in rows], [1, 2, 4, 8, 16, 32, 64])

    def test_without_fields_the_usual_columns_are_given(self):
        row = llmcalc.sweep("train", "gpt2", hardware="h100", tp=[1])[0]
        self.assertLessEqual({"tp", "step.time_s", "verdict.fit", "error"}, set(row))

    def test_a_config_can_be_swept(self):
        rows = llmcalc.sweep("memory", CONFIG, train=True, micro_batch=[1, 2], fields=["memory.peak_bytes"])
        self.assertLess(rows[0]["memory.peak_bytes"], rows[1]["memory.peak_bytes"])

    def test_mistakes_in_a_sweep_are_refused_before_it(self):
        def refused(part, *args, **values):
            with self.assertRaisesRegex(llmcalc.InputError, part):
                llmcalc.sweep(*args, **values)

        refused("did you mean .step.time_s.", "train", "gpt2", hardware="h100", tp=[1], fields=["step.tims_s"])
        refused("expected params, memory", "plan train", "gpt2", hardware="h100", tp=[1])
        refused("needs --hardware", "train", "gpt2", tp=[1])
        refused("is not an input", "train", "gpt2", hardware="h100", tpp=[1])
        refused("unknown preset", "train", ["gpt2", "gpt9"], hardware="h100")
        refused("same keys", "train", "gpt2", hardware="h100", points=[{"tp": 1}, {"pp": 1}])
        refused("expected a positive whole number", "train", "gpt2", hardware="h100", tp=[1, "x"])
        refused("no effect on the rows", "train", "gpt2", hardware="h100", tp=[1], ops=True)
        refused("points replace lists", "train", "gpt2", hardware="h100", tp=[1], points=[{"tp": 1}])
        self.assertEqual(llmcalc.sweep("train", "gpt2", hardware="h100", points=[]), [])


class Documentation(unittest.TestCase):
    def test_the_outputs_on_the_page_are_real(self):
        root = pathlib.Path(__file__).parents[2]
        page = (root / "docs" / "python.md").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "python.md"
            copy.write_text(page, encoding="utf-8")
            package = os.path.dirname(os.path.dirname(os.path.abspath(llmcalc.__file__)))
            subprocess.run([sys.executable, root / "scripts" / "python-page", copy], check=True,
                           env={**os.environ, "PYTHONPATH": package})
            self.assertEqual(copy.read_text(encoding="utf-8"), page)


if __name__ == "__main__":
    unittest.main()
