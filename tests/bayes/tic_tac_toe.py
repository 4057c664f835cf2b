"""All ends of the game of noughts and crosses that crosses begin, and whether these won."""

import numpy as np

_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def tic_tac_toe() -> tuple[np.ndarray, np.ndarray]:
    """The 958 boards, in the order of their letters, and the 626 that crosses won."""
    ends: dict[str, bool] = {}

    def play(board: str, player: str) -> None:
        for place in range(9):
            if board[place] == "b":
                after = board[:place] + player + board[place + 1 :]
                won = any(all(after[i] == player for i in line) for line in _LINES)
                if won or "b" not in after:
                    ends[after] = won and player == "x"
                else:
                    play(after, "o" if player == "x" else "x")

    play("b" * 9, "x")
    boards = sorted(ends)
    return np.array([list(board) for board in boards]), np.array([ends[b] for b in boards])
