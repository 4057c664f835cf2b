"""Work in several threads at once."""

import threading


def run_together(*works):
    """Run all, each in a thread; the errors."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def look_while(learn, *looks):
    """Run `learn`, and the others again and again in threads of their own until it ends; the
    errors."""
    done = threading.Event()

    def learn_once():
        try:
            learn()
        finally:
            done.set()

    def keep(look):
        while not done.is_set():
            look()

    return run_together(learn_once, *(lambda look=look: keep(look) for look in looks))
