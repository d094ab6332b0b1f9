"""A run that is killed and resumed, or returns to a step, shows each step once, with the final value, both to a new
reader and to a reader that was open all the time."""

import random

from training import Folder, accumulator, ended, hyper_parameters, kill, require_as_metrics, sets, shown, steps, until

MANY = 6000  # steps, with a checkpoint after some: long enough to be killed on the way
random.seed(7)
folder = Folder()


def killed(reader, *words):
    """Resumes the run and kills it once it has written more and the reader has read that."""
    before = steps(folder.run())
    process = folder.start(*words)
    more = random.randrange(20, 400)
    until(lambda: steps(folder.run()) >= before + more, f"{more} steps more", process)
    until(lambda: len(shown(reader).get("train/loss", [])) > before, "the reader sees them", process)
    kill(process)
    shown(reader)


reader = accumulator(folder.run())
(folder.run() / "tensorboard").mkdir(parents=True)  # the reader's folder exists before the run
killed(reader, "run", "small.toml", "--run-id", "run", *sets(epochs=MANY, checkpoint__save_every_steps=7))
for _ in range(4):
    killed(reader, "resume", "small/run")
# The last record may be torn, and a file may be incomplete.
file = folder.run() / "tensorboard" / folder.files()[-1]
file.write_bytes(file.read_bytes() + file.read_bytes()[:20])
(folder.run() / "tensorboard/.next").write_bytes(b"half")
now = steps(folder.run())
epochs = now // 6 + 5
folder.complete("resume", "small/run", *sets(epochs=epochs, optimizer__lr=0.002))
assert steps(folder.run()) == epochs * 6
require_as_metrics(folder.run(), reader)
assert len(folder.files()) == 6, folder.files()  # all but one are empty
assert hyper_parameters(folder.run())["optimizer.lr"] == 0.002  # the settings of the resumed run
assert ended(folder.run()) == 1

# Returns to a checkpoint, then trains another way; a resume without work changes nothing.
saved = sorted(int(path.name[5:]) for path in folder.run().glob("checkpoints/step-*"))
folder.complete("resume", "small/run", "--from", str(saved[0]), *sets(optimizer__lr=0.004))
require_as_metrics(folder.run(), reader)
files = folder.files()
folder.complete("resume", "small/run")
assert folder.files() == files

# A run of a number of steps writes a line for the epoch that its last step cuts short; a resume takes the line back.
folder.complete("run", "cut.toml", "--run-id", "run")
cut = folder.run(of="cut")
reader = accumulator(cut)
assert [step for step, _ in shown(reader)["epoch"]] == [6, 8]
folder.complete("resume", "cut/run", *sets(steps=20))
require_as_metrics(cut, reader)
assert [step for step, _ in shown(reader)["epoch"]] == [6, 12, 18, 20]
