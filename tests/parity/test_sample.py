"""A few cases of each test_*.py of this folder in one process, which imports torch once, and PyTorch's kept values."""

import os
import pathlib
import runpy
import sys
import traceback

import parity  # before numpy, which would start threads

CASES = 3  # of each script, evenly spread over its list
WHOLE = {"test_kept_values"}
OTHERS = {"test_sample", "test_ddp_run", "test_decoding", "test_export", "test_export_archive", "test_export_onnx",
          "test_export_refusals", "test_from_pytorch", "test_generate", "test_hub", "test_license_gpt", "test_metrics",
          "test_predict", "test_reference", "test_schedules", "test_scripts", "test_sync_batch_norm", "test_tokenizers",
          "test_transforms"}  # fmt: skip (these list no cases, or export for a minute)


def passes(script):
    """Runs a script in a fork: its folders, its environment and its exit are its own."""
    child = os.fork()
    if child == 0:
        parity.SAMPLE = None if script.stem in WHOLE else CASES
        sys.argv = [str(script)]
        try:
            runpy.run_path(str(script), run_name="__main__")
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            code = 1
        sys.stdout.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 77)


def main():
    failed = []
    for script in sorted(pathlib.Path(__file__).parent.glob("test_*.py")):
        if script.stem not in OTHERS:
            print(script.stem, flush=True)
            if not passes(script):
                failed.append(script.stem)
    print(f"failed: {failed}" if failed else "all passed")
    return bool(failed)


sys.exit(main())
