"""Versions and specifiers agree with `packaging`, which is too slow to import where these are used."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from stablint.run.releases.pep440 import matcher, minor_of, release_key, text_of

numbers = st.integers(0, 12)
releases = st.lists(numbers, min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
suffixes = st.sampled_from(
    [
        "",
        "a1",
        ".b2",
        "rc0",
        "-c3",
        "alpha",
        ".post1",
        "-2",
        ".rev3",
        ".dev0",
        "dev4",
        "rc1.post2",
        "b1.dev3",
        ".post1.dev2",
    ]
)
versions = st.builds(
    lambda epoch, release, suffix, local: f"{epoch}{release}{suffix}{local}",
    st.sampled_from(["", "", "", "v", "1!"]),
    releases,
    suffixes,
    st.sampled_from(["", "", "+cu121"]),
)


def public(version: str) -> Version:
    return Version(Version(version).public)


@given(versions, versions)
def test_keys_order_as_pep_440_does(left: str, right: str) -> None:
    assert (release_key(left) < release_key(right)) == (public(left) < public(right))
    assert (release_key(left) == release_key(right)) == (public(left) == public(right))


@given(versions)
def test_a_key_can_be_written_as_a_version_again(version: str) -> None:
    assert Version(text_of(release_key(version))) == public(version)


@given(st.sampled_from(["==", "!=", ">=", "<=", ">", "<", "~="]), releases, suffixes, versions)
def test_specifiers_select_as_pep_440_says(operator: str, release: str, suffix: str, version: str) -> None:
    if operator == "~=" and "." not in release:
        release += ".0"
    expected = SpecifierSet(operator + release + suffix).contains(public(version), prereleases=True)
    assert matcher(operator + release + suffix)(release_key(version)) == expected


@given(st.sampled_from(["==", "!="]), releases, versions)
def test_prefixes_select_as_pep_440_says(operator: str, prefix: str, version: str) -> None:
    expected = SpecifierSet(f"{operator}{prefix}.*").contains(public(version), prereleases=True)
    assert matcher(f"{operator}{prefix}.*")(release_key(version)) == expected


@pytest.mark.parametrize(
    ("specifier", "inside", "outside"),
    [
        ("4.46.1", "4.46.1", "4.46.2"),
        (">=4.46,<5", "4.57.6", "5.0.0"),
        (">= 0.19 , != 0.20.*", "0.21", "0.20.3"),
        ("4.46.*", "4.46.3", "4.47.0"),
    ],
)
def test_bare_versions_and_lists(specifier: str, inside: str, outside: str) -> None:
    assert matcher(specifier)(release_key(inside))
    assert not matcher(specifier)(release_key(outside))


# What hypothesis draws seldom: development versions of post-releases, and a letter in front of a prefix.
@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("bound", ["1.0", "1.0.post1", "1.0rc1", "1.0.dev2", "1.0.post1.dev1"])
@pytest.mark.parametrize(
    "version", ["1.0", "1.0.dev1", "1.0.post1.dev1", "1.0.post1.dev2", "1.0rc1", "1.0rc1.dev1", "1.0.post2"]
)
def test_versions_on_the_way_to_a_bound(operator: str, bound: str, version: str) -> None:
    expected = SpecifierSet(operator + bound).contains(version, prereleases=True)
    assert matcher(operator + bound)(release_key(version)) == expected


def test_a_prefix_may_have_the_letter_of_a_tag() -> None:
    assert matcher("==v4.46.*")(release_key("4.46.3"))
    assert not matcher("==v4.46.*")(release_key("4.47"))


@pytest.mark.parametrize(
    "text", ["", "latest", "4..5", "4.x", "git+https://example.org", "4.46,,5", ">=", ">=4.*", "~=4", "==a.*"]
)
def test_what_is_no_specifier_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        matcher(text)


def test_a_minor_release_is_epoch_major_and_minor() -> None:
    assert minor_of(release_key("4.57.6")) == minor_of(release_key("4.57")) == (0, 4, 57)
    assert minor_of(release_key("5.0.0rc1")) == (0, 5, 0)
