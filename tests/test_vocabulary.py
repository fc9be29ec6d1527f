"""The entry points have the verbs and arguments of the table, and each argument is read."""

import ast
import inspect

import click
import pytest
import vocabulary
from over import over

import simdb
from simdb.cli.app import app

HIDDEN = {"Snapshot": {"abandon"}}


def parameters(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


def verbs_of(noun):
    """Return the public methods of a class by name."""
    found = inspect.getmembers(getattr(simdb, noun), inspect.isfunction)
    hidden = HIDDEN.get(noun, set())
    return {name: each for name, each in found if name[0] != "_" and name not in hidden}


def unused(function):
    """Return the parameters of a function that its body never reads."""
    tree = ast.parse(inspect.cleandoc("\n" + inspect.getsource(function)))
    body = tree.body[0]
    read = {node.id for node in ast.walk(body) if isinstance(node, ast.Name)}
    return [name for name in parameters(function) if name not in read]


@over("noun", vocabulary.NOUNS)
def test_a_class_has_the_verbs_and_arguments_of_the_table(noun):
    found = {name: parameters(each) for name, each in verbs_of(noun).items()}

    assert found == {verb: list(vocabulary.VERBS[verb]) for verb in vocabulary.NOUNS[noun]}


@over("noun", vocabulary.NOUNS)
def test_a_verb_reads_each_of_its_arguments(noun):
    found = {name: unused(each) for name, each in verbs_of(noun).items()}

    assert {name: names for name, names in found.items() if names} == {}


def test_deduplicate_has_the_arguments_of_the_table_and_reads_them():
    assert parameters(simdb.deduplicate) == list(vocabulary.DEDUPLICATE)
    assert unused(simdb.deduplicate) == []


@over("command", vocabulary.COMMANDS)
def test_a_command_gives_each_argument_of_its_verb_or_says_why_not(command):
    verb, own = vocabulary.COMMANDS[command]
    made = app.get_command(click.Context(app), command)
    given = {name for each in made.params for name in (*each.opts, each.metavar)}

    missing = []
    for argument in vocabulary.VERBS[verb]:
        option = own.get(argument, vocabulary.OPTIONS.get(argument))
        if argument in vocabulary.NOT_IN_COMMANDS:
            assert f"--{argument}" not in given, f"{argument} is a command's, too"
        elif option is None or (option.startswith("--") and option not in given):
            missing.append(argument)
        elif option is own.get(argument) and not option.startswith("--"):
            assert f"--{argument.replace('_', '-')}" not in given - {"--texts"}, argument

    assert missing == []


def test_every_argument_with_an_option_is_one_of_a_verb():
    known = {argument for each in vocabulary.VERBS.values() for argument in each}

    assert {*vocabulary.NOT_IN_COMMANDS} <= known
    assert {*vocabulary.OPTIONS} <= known
    for verb, own in [*vocabulary.COMMANDS.values(), *vocabulary.SPARK.values()]:
        assert {*own} <= {*vocabulary.VERBS[verb]}


@pytest.mark.parametrize("name", vocabulary.SPARK)
def test_a_function_of_spark_has_each_argument_of_its_verb_or_says_why_not(name):
    spark = pytest.importorskip("simdb.spark")
    verb, left_out = vocabulary.SPARK[name]
    function = getattr(spark, name)
    found = parameters(function)

    expected = [
        argument
        for argument in vocabulary.VERBS[verb]
        if argument not in left_out and argument not in vocabulary.OF_SPARK
    ]
    assert [each for each in expected if each not in found] == []
    assert [each for each in left_out if each in found] == []
    assert unused(function) == []
