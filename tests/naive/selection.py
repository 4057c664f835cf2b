"""Twin of the choice of columns and parents: every network counted again without each row."""

from math import exp, log


def log_share(rows, i, parents, x, c, r, alpha):
    """log P(x_i | parents, c) by counting rows (codes, class, weight) one by one."""
    alike = [row for row in rows if row[1] == c and row[0][i] > 0]
    alike = [row for row in alike if all(row[0][p] == x[p] for p in parents)]
    total = sum(row[2] for row in alike) + alpha * r
    if total == 0:
        return log(1 / r)
    own = sum(row[2] for row in alike if row[0][i] == x[i]) + alpha
    return log(own / total) if own > 0 else -float("inf")


def posterior(rows, order, parents, m, x, cards, n_classes, alpha):
    """P(c | x) of the attributes in `order` with their first m parents, as far as x knows these."""
    total = sum(row[2] for row in rows)
    logs = []
    for c in range(n_classes):
        of_class = sum(row[2] for row in rows if row[1] == c)
        share = of_class / total if total else 1 / n_classes
        logs.append(log(share) if share else -float("inf"))
        for i in order:
            if x[i] == 0:
                continue
            known = []
            for p in parents[i][:m]:
                if x[p] == 0:
                    break
                known.append(p)
            logs[c] += log_share(rows, i, known, x, c, cards[i], alpha)
    if max(logs) == -float("inf"):
        return [1 / n_classes] * n_classes
    odds = [exp(value - max(logs)) for value in logs]
    return [value / sum(odds) for value in odds]


def measure_losses(codes, cards, y, n_classes, order, parents, alpha, weights=None):
    """losses[m][n], the mean over rows of (1 − P(y | x))², each row without itself."""
    weights = [1.0] * len(y) if weights is None else weights
    rows = [(list(map(int, x)), int(c), w) for x, c, w in zip(codes.T, y, weights, strict=True)]
    deepest = max((len(parents[i]) for i in order), default=0)
    losses = [[0.0] * (len(order) + 1) for _ in range(deepest + 1)]
    for t, (x, c, w) in enumerate(rows):
        rest = [*rows[:t], (x, c, w - min(w, 1.0)), *rows[t + 1 :]]
        for m in range(deepest + 1):
            for n in range(len(order) + 1):
                own = posterior(rest, order[:n], parents, m, x, cards, n_classes, alpha)[c]
                losses[m][n] += w * (1 - own) ** 2
    return [[loss / sum(weights) for loss in line] for line in losses]
