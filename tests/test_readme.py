"""The Python of README.md runs and prints what README.md says."""

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_examples_run_in_order_and_print_what_stands_below_them(tmp_path, monkeypatch, capsys):
    text = README.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    exec("\n".join(re.findall("```python\n(.*?)```", text, re.DOTALL)), {})

    shown = "".join(re.findall("```text\n(.*?)```", text, re.DOTALL))
    assert capsys.readouterr().out == shown
