"""Files of networks that are damaged, foreign or hostile."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lindero.errors import ModelFileError
from tests.bayes.network_files import awkward, from_bif, from_xmlbif, plain, to_bif, to_xmlbif

BIF = """\
network "weather" { property software = some program ; }
// the class
variable play { type discrete [ 2 ] { yes no }; property role = class; }
variable "outlook" {
  type discrete [ 3 ] { sunny, rain, overcast };  /* three
  of them */
}
variable wind { type discrete [ 2 ] { "strong" "weak" }; }
probability ( play ) { table 0.25 0.75; }
probability ( outlook play ) {
  (no) 0.2, 0.3, 0.5;
  (yes) 0.6 0.4 0.0;
}
probability ( wind | play, outlook ) {
  default 0.5 0.5;
  (no, rain) 0.9, 0.1;
}
"""


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def test_the_spellings_of_other_programs_are_read():
    network, names, values, class_name, classes = from_bif(BIF)
    assert names == ["outlook", "wind"]
    assert values == [["sunny", "rain", "overcast"], ["strong", "weak"]]
    assert (class_name, classes) == ("play", ["yes", "no"])
    assert network.parents == ((), (0,))
    assert_allclose(np.exp(network.log_prior), [0.25, 0.75])
    assert_allclose(np.exp(network.log_tables[0]).T, [[0.6, 0.4, 0.0], [0.2, 0.3, 0.5]])
    wind = np.full((3, 2, 2), 0.5)
    wind[1, :, 1] = [0.9, 0.1]
    assert_allclose(np.exp(network.log_tables[1]), wind)


def test_a_whole_table_has_its_variable_varying_slowest():
    rows = BIF[BIF.index("  default") : BIF.index("  (no, rain)")]
    table = "  table .1 .2 .3 .4 .5 .6 .9 .8 .7 .6 .5 .4;\n"
    text = BIF.replace(rows, table).replace("  (no, rain) 0.9, 0.1;\n", "")
    strong = np.exp(from_bif(text)[0].log_tables[1])[:, 0, :]
    assert_allclose(strong, [[0.1, 0.4], [0.2, 0.5], [0.3, 0.6]])


def test_another_variable_may_be_the_class():
    text = BIF.replace("( outlook play )", "( outlook )").replace("  (no) 0.2, 0.3, 0.5;\n", "")
    text = text.replace("  (yes) 0.6", "  table 0.6").replace("property role = class;", "")
    network, names, _, class_name, _ = from_bif(text, class_name="outlook")
    assert (names, class_name) == (["play", "wind"], "outlook")
    assert network.with_class == (False, True)
    assert_allclose(np.exp(network.log_tables[1])[1, :, 1], [0.9, 0.1])
    with pytest.raises(ModelFileError, match="0 variables are marked as the class"):
        from_bif(text)
    with pytest.raises(ValueError, match=r"'rain' is not a variable.*play, outlook, wind"):
        from_bif(text, class_name="rain")


def test_a_class_with_parents_is_refused():
    with pytest.raises(ModelFileError, match="the class must not have parents, but has play"):
        from_bif(BIF, class_name="outlook")


def test_probabilities_that_were_rounded_are_brought_to_sum_to_one():
    network = from_bif(BIF.replace("0.2, 0.3, 0.5", "0.33, 0.33, 0.333"))[0]
    assert_allclose(np.exp(network.log_tables[0]).sum(axis=0), [1.0, 1.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(no) 0.2", "(maybe) 0.2", "'play' has no value 'maybe'"),
        ("0.2, 0.3, 0.5;", "0.2, 0.3;", "expected 3 probabilities, but 2 are given"),
        ("0.2, 0.3, 0.5;", "0.2, 0.3, x;", "must be a number, not 'x'"),
        ("0.2, 0.3, 0.5;", "0.2, 0.3, nan;", "must be a number, not 'nan'"),
        ("( outlook play )", "( outlook | humidity )", "'humidity' is not declared"),
        ("( outlook play )", "( outlook | outlook )", "stands twice"),
        ("( outlook play )", "( play )", "of 'play' are given twice"),
        ("[ 3 ]", "[ 4 ]", "4 values announced, 3 given"),
        ("sunny, rain", "rain, rain", "values, all different"),
        ('variable "outlook"', "variable play", "declared twice"),
        ("  (no) 0.2, 0.3, 0.5;", "", "for 1 combinations of its parents' values are given, 2"),
        ("0.2, 0.3, 0.5;", "0.2, 0.3, 0.9;", "sum is 1.4"),
        ("0.2, 0.3, 0.5;", "1.7e308, 1.7e308, 0.5;", "sum is inf"),
        ("0.2, 0.3, 0.5;", "-0.2, 0.7, 0.5;", "must not be negative"),
        ("probability ( outlook play )", "chance ( outlook play )", "not 'chance'"),
        ("(no, rain)", "(no)", "expected 2 values of the parents"),
    ],
)
def test_damage_is_named_with_its_line(old, new, message):
    text = BIF.replace(old, new, 1)
    assert text != BIF
    with pytest.raises(ModelFileError, match=message) as caught:
        from_bif(text)
    assert str(caught.value).startswith(f"line {caught.value.line}: ")
    assert abs(caught.value.line - line_of(BIF, old)) <= 1  # a block is named by its first line


def test_arcs_in_a_circle_are_refused():
    text = BIF.replace("( outlook play )", "( outlook | wind )")
    text = text.replace("(no) 0.2", "(strong) 0.2").replace("(yes) 0.6", "(weak) 0.6")
    with pytest.raises(ModelFileError, match="each other's parents"):
        from_bif(text)


@pytest.mark.parametrize(
    ("write", "read"), [(to_bif, from_bif), (to_xmlbif, from_xmlbif)], ids=["bif", "xmlbif"]
)
@pytest.mark.parametrize("case", [plain, awkward])
def test_a_file_cut_short_or_changed_anywhere_is_read_or_refused(case, write, read):
    text = write(*case())
    rng = np.random.default_rng(9)
    refused = 0
    for place in rng.integers(0, len(text) - 10, 300):
        mark = rng.choice([*'{}()[]|,;"<>&/ x0=%', ""])
        for damaged in (text[:place], text[:place] + mark + text[place + 1 :]):
            try:
                read(damaged)
            except ModelFileError:
                refused += 1
    assert refused > 300


def test_a_table_larger_than_any_memory_is_refused_before_it_is_made():
    names = [f"v{k}" for k in range(60)]
    variables = "".join(f"variable {v} {{ type discrete [ 2 ] {{ a b }}; }}\n" for v in names)
    text = variables + f"probability ( v0 | {', '.join(names[1:])} ) {{ default 0.5 0.5; }}"
    with pytest.raises(ModelFileError, match=r"59 parents give a table of 1\d+ probabilities"):
        from_bif(text, "v0")


# -- XMLBIF -------------------------------------------------------------------------------------


def xml(*args):
    return to_xmlbif(*(args or plain()))


def with_declaration(declaration):
    return xml().replace("<BIF", f"{declaration}\n<BIF", 1)


def test_the_declarations_of_the_format_are_passed_over():
    declared = with_declaration("<!DOCTYPE BIF [ <!ELEMENT BIF (NETWORK)*> ]>")
    assert from_xmlbif(declared)[1:] == plain()[1:]


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE BIF [ <!ENTITY a "aaaaaaaaaa"> <!ENTITY b "&a;&a;&a;&a;"> ]>',
        '<!DOCTYPE BIF [ <!ENTITY file SYSTEM "file:///etc/hostname"> ]>',
        '<!DOCTYPE BIF SYSTEM "http://localhost/bif.dtd">',
        '<!DOCTYPE BIF [ <!ENTITY % more SYSTEM "bif.dtd"> %more; ]>',
    ],
)
def test_entities_and_other_files_are_refused(declaration):
    with pytest.raises(ModelFileError, match="line 2: declarations of entities"):
        from_xmlbif(with_declaration(declaration))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</TABLE>", "0.5</TABLE>", "expected 3 probabilities, but 4"),
        ("<TABLE>", "<TABLE>x", "must hold numbers only"),
        ("<FOR>size</FOR>", "<FOR>colour</FOR>", "'colour' is not declared"),
        ("<FOR>size</FOR>", "", "DEFINITION needs one FOR, but has 0"),
        ("<FOR>size</FOR>", "<FOR>letter</FOR>", "stands twice"),
        ("<OUTCOME>low</OUTCOME>", "<OUTCOME>mid</OUTCOME>", "all different"),
        ("<NAME>wet</NAME>", "<NAME>size</NAME>", "declared twice"),
        ("</VARIABLE>", "", "not XML: mismatched tag"),
        ("<NETWORK>", "<NET>", "not XML"),
    ],
)
def test_damaged_xml_is_named_with_its_line(old, new, message):
    text = xml().replace(old, new, 1)
    assert text != xml()
    with pytest.raises(ModelFileError, match=r"line \d+: .*" + re.escape(message)):
        from_xmlbif(text)


def test_a_variable_without_definition_is_named():
    text = re.sub(r"<DEFINITION>\s*<FOR>wet.*?</DEFINITION>", "", xml(), flags=re.DOTALL)
    with pytest.raises(ModelFileError, match="variable 'wet': it has no DEFINITION"):
        from_xmlbif(text)
