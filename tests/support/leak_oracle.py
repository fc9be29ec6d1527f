"""Leak oracle: finds leaks by loops over words, to check `simdb.decontaminate`.

Words are `str`; items and documents are sequences of them.
"""

from itertools import pairwise

from alignment_oracle import matches

WEIGHT = 1 << 30


class Oracle:
    """The items in documents, found by the rule that `simdb.decontaminate` describes."""

    def __init__(self, documents, items, *, n, coverage, common, least_common, numbers="same"):
        """Take all documents, items and settings."""
        self.documents, self.n, self.coverage, self.numbers = documents, n, coverage, numbers
        self.common = float("inf") if common >= 1 else common
        self.least_common = least_common
        self.items = items
        self.sequences = list(dict.fromkeys(map(tuple, items)))

    def leaks(self):
        """Return the coverage of each item in each document that has it."""
        found = {}
        long_enough = max(5, self.n)
        for number, item in enumerate(self.items):
            if len(item) < long_enough:
                continue
            for at, document in enumerate(self.documents):
                covered = self.judged(tuple(item), document)
                if covered is not None:
                    found[at, number] = covered
        return found

    def many(self, count, total):
        return count > max(self.least_common, self.common * total)

    def item_count(self, gram):
        """Count the different items with a run of words; equal items are one."""
        fit = [each for each in self.sequences if len(each) >= max(5, self.n)]
        return sum(gram in grams(each, len(gram)) for each in fit)

    def is_entry(self, gram):
        return not self.many(self.item_count(gram), len(set(range(len(self.items)))))

    def is_common(self, gram):
        count = sum(gram in grams(each, self.n) for each in self.documents)
        return self.is_entry(gram) and self.many(count, len(self.documents))

    def judged(self, item, document):
        """Return the coverage of an item if the document has it, else None."""
        size, own = len(item), grams(item, self.n)
        entry = {gram: self.is_entry(gram) for gram in own}
        common = {gram: self.is_common(gram) for gram in own}
        places = {gram: [at for at, each in enumerate(own) if each == gram] for gram in own}
        told, hidden = set(), set()
        for at, gram in enumerate(own):
            if at in places[gram][:4]:
                told.update(range(at, at + self.n))
            if common[gram]:
                hidden.update(range(at, at + self.n))
        telling = told - hidden
        is_whole = size >= 10 and len(telling) < 5
        telling = set(range(size)) if is_whole else telling
        weight = [
            (WEIGHT // self.family(item, at) ** 2 if at in telling else 0) for at in range(size)
        ]
        entries = {gram for gram in own if entry[gram]}
        rare = entries if is_whole else {gram for gram in entries if not common[gram]}
        at_all = any(
            self.is_near(document, each, {g for g in grams(each, self.n) if self.is_entry(g)})
            for each in self.sequences
            if len(each) >= max(5, self.n)
        )
        if not (at_all and self.is_near(document, item, rare) and sum(weight)):
            return None
        seeds = [
            (p, s)
            for p, gram in enumerate(grams(document, self.n))
            if gram in entries
            for s in places[gram][:4]
        ]
        passages = [self.grown(document, item, chain) for chain in chains(seeds, self.n)]
        best, near = self.nearest(passages, weight, 2 * size + 32)
        covered = {s for passage in near for _, s in passage}
        share = best / sum(weight)
        if share < self.threshold(item, weight, is_whole=is_whole) - 1e-9:
            return None
        if size < 8 and len(covered) < size:
            return None
        same = sum(is_number(item[s]) for s in covered)
        other = sum(self.others(document, item, passage) for passage in near)
        if self.numbers == "same" and other >= max(1, same) and 25 * other >= size:
            return None
        return share

    def family(self, item, at):
        return max(
            self.item_count(item[start : start + 3])
            for start in range(max(0, at - 2), at + 1)
            if start + 3 <= len(item)
        )

    def threshold(self, item, weight, *, is_whole):
        if len(item) < 8:
            return 1
        if is_whole:
            return 0.8
        lengths = [
            own / 2 if is_single(word) else own for own, word in zip(weight, item, strict=True)
        ]
        missing = (30 - sum(lengths) / WEIGHT) / 22
        return min(self.coverage + 0.3 * min(1, max(0, missing)), 1)

    def is_near(self, document, item, wanted):
        """Return whether enough of the wanted n-grams of an item are near one another."""
        size = len(item)
        least = min(1 if size < 12 else 2 if size < 30 else 3, max(1, len(wanted) // 2))
        hits = [(p, gram) for p, gram in enumerate(grams(document, self.n)) if gram in wanted]
        return any(
            len({gram for p, gram in hits if start <= p <= start + 2 * size + 32}) >= least
            for start, _ in hits
        )

    def grown(self, document, item, chain):
        """Return the pairs of equal words of the passage around a chain of seeds."""
        first = chain[0]
        pairs = list(matches(document, item, first[0] - 1, first[1] - 1, -1))[::-1]
        for p, s in chain:
            last = pairs[-1] if pairs else (p - 1, s - 1)
            if pairs and p > last[0] + 1 and s > last[1] + 1:
                inside = cut_out(document, last[0] + 1, p), cut_out(item, last[1] + 1, s)
                pairs += matches(*inside, last[0] + 1, last[1] + 1, 1)
                last = pairs[-1]
                inside = cut_out(document, last[0] + 1, p), cut_out(item, last[1] + 1, s)
                pairs += list(matches(*inside, p - 1, s - 1, -1))[::-1]
                last = pairs[-1]
            own = [(p + i, s + i) for i in range(self.n)]
            pairs += [each for each in own if each[0] > last[0] and each[1] > last[1]]
        last = pairs[-1]
        inside = cut_out(document, last[0] + 1), cut_out(item, last[1] + 1)
        return pairs + list(matches(*inside, last[0] + 1, last[1] + 1, 1))

    def nearest(self, passages, weight, span):
        """Return the most weight that passages near one another cover, and these passages."""
        ordered = sorted(passages, key=lambda each: each[0])
        best, chosen = 0, []
        for at, passage in enumerate(ordered):
            near = []
            for each in ordered[at:]:
                if each[-1][0] + 1 > passage[0][0] + span:
                    break
                near.append(each)
            covered = sum(weight[s] for s in {s for each in near for _, s in each})
            if covered > best:
                best, chosen = covered, near
        return best, chosen

    def others(self, document, item, passage):
        """Count the numbers of an item that differ in a passage."""
        found = 0
        for (p, s), (q, t) in pairwise(passage):
            if 1 <= q - p - 1 <= 23:
                left = [word for word in document[p + 1 : q] if is_number(word)]
                right = [word for word in item[s + 1 : t] if is_number(word)]
                for word in list(left):
                    if word in right:
                        left.remove(word)
                        right.remove(word)
                found += min(len(left), len(right))
        for (p, s), step in ((passage[0], -1), (passage[-1], 1)):
            for away in range(1, 5):
                q, t = p + step * away, s + step * away
                if 0 <= q < len(document) and 0 <= t < len(item):
                    both = document[q], item[t]
                    found += all(map(is_number, both)) and both[0] != both[1]
        return found


def grams(words, n):
    return [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]


def is_number(word):
    return word[0] in "0123456789"


def is_single(word):
    return len(word) == 1 and word > "\u0e00"


def cut_out(words, start, stop=None):
    """Return words in which every word outside a range is replaced."""
    stop = len(words) if stop is None else stop
    return [word if start <= at < stop else object() for at, word in enumerate(words)]


def chains(seeds, n):
    """Return the chains of seeds, the best first, each seed in one of them; at most 64."""
    score, before = [], []
    for i, (p, s) in enumerate(seeds):
        options = [
            (score[j] + 10 * min(n, p - q, s - t) - 3 * abs((p - q) - (s - t)), j)
            for j, (q, t) in list(enumerate(seeds))[max(0, i - 32) : i]
            if 0 < p - q <= 25 and 0 < s - t <= 25
        ]
        best = max(options, default=(0, -1))
        score.append(max(10 * n, best[0]))
        before.append(best[1] if best[0] > 10 * n else -1)
    found, used = [], set()
    for at in sorted(range(len(seeds)), key=lambda each: (-score[each], each)):
        chain = []
        while at not in used and at >= 0:
            used.add(at)
            chain.append(seeds[at])
            at = before[at]
        if chain and len(found) < 64:
            found.append(chain[::-1])
    return found
