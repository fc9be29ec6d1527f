"""The sketch options, which are the same in every command."""

from over import over

import simdb


def stored(path="db"):
    with simdb.open(path, "r") as database:
        return database.options.sketch


@over(
    ("flags", "expected"),
    [
        ([], {}),
        (["--markup", "html", "--no-html-title", "--html-links"],
         {"markup": "html", "html_title": False, "html_links": True}),
        (["--unit", "characters", "--shingle", "5", "--no-lowercase"],
         {"unit": "characters", "shingle": 5, "lowercase": False}),
        (["--normalisation", "nfkc", "--weighting", "log-tf", "--seed", "7"],
         {"normalisation": "nfkc", "weighting": "log-tf", "seed": 7}),
        (["--dimensions", "64", "--no-volatility"],
         {"dimensions": 64, "store_volatility": False}),
        (["--dimensions", "256"], {"dimensions": 256}),
        (["--tokeniser", "shlex:split"], {"tokeniser": "shlex:split"}),
        (["--by-character", "cjk"], {"by_character": "cjk"}),
        (["--by-character", "spaceless"], {}),
    ],
)  # fmt: skip
def test_each_option_reaches_the_database(simdb_run, flags, expected):
    ran = simdb_run("create", "-".join(["db", *flags[:2]]), *flags)

    assert ran.code == 0
    assert stored("-".join(["db", *flags[:2]])) == simdb.Simhash(**expected)


def test_options_override_a_preset(simdb_run):
    simdb_run("create", "db", "--preset", "moz", "--shingle", "4")

    assert stored() == simdb.Simhash.moz(window=4)


def test_stop_words_come_from_a_file(simdb_run, tmp_path):
    (tmp_path / "words").write_text("the\nover the\n", encoding="utf-8-sig")

    simdb_run("create", "db", "--stop-words", "@words")

    assert stored().stop_words == ("over", "the")
