"""Duplicate options: what `simdb dedup` takes for a duplicate."""

from dataclasses import dataclass

from simdb.checks import share
from simdb.choices import PolicyName
from simdb.cli.options import arguments
from simdb.cli.options.keep_rule import check_keep_rule
from simdb.cli.options.match_options import MatchOptions, given_search
from simdb.engine.clusters.find import CONNECTED, STAR, check_policy
from simdb.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateOptions:
    """The options of `simdb dedup` about duplicates."""

    similarity: arguments.DecidedSimilarity = None
    distance: arguments.Distance = None
    recall: arguments.Recall = None
    search: arguments.Search = None
    policy: arguments.KeptPolicy = None
    keep_by: arguments.KeepBy = "first"
    verify: arguments.Verify = None
    texts: arguments.EarlierTexts = None
    max_share: arguments.MaxShare = None

    @property
    def matching(self) -> MatchOptions:
        """How near documents must be to match, and how to search for them."""
        return MatchOptions(self.similarity, self.distance, self.recall, given_search(self.search))

    def kept_policy(self, *, has_keep: bool) -> PolicyName:
        """Return what makes a group, where --policy does not say it."""
        return self.policy or (STAR if has_keep else CONNECTED)

    def check(self, *, has_database: bool) -> None:
        """Raise OptionError for values that are wrong, with --db or without it."""
        if self.policy is not None:
            check_policy(self.policy)
        if self.max_share is not None:
            share("--max-share", self.max_share)
        if has_database and self.policy not in (None, CONNECTED):
            raise OptionError(
                f"--policy {self.policy} works only without --db, where documents are grouped"
            )
        check_keep_rule(self.keep_by)
        if not has_database and self.texts is not None:
            raise OptionError(
                "--texts works only with --db; without --db all texts are in the input"
            )
