"""Write envs/Dockerfile: an image with the conda environments of all rules (`make container`).

`snakemake --containerize` prints most of it; it leaves out the post-deploy scripts, which are added here. Snakemake
asks conda, which must be on PATH, for the platform.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
NOTE = """# Written by `make container` from the files in envs/; do not edit. A test holds this file to them; no test
# has tried whether an image can be built of it. From the project's root:
#   docker build --file envs/Dockerfile --tag headroom .
#   apptainer build headroom.sif docker-daemon:headroom:latest
#   snakemake --cores 8 --software-deployment-method conda apptainer
"""
COMPILER = """
# what environments need in addition to their packages, as in their post-deploy scripts
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
"""
POST_DEPLOY = """COPY {script} {prefix}/post-deploy.sh
RUN XDG_CACHE_HOME=/tmp/cache conda run --prefix {prefix} bash {prefix}/post-deploy.sh && rm -rf /tmp/cache
"""
ENVIRONMENT = re.compile(r"^#   source: (\S+)\.yaml\n#   prefix: (\S+)$", flags=re.M)


def containerize() -> str:
    """Return Snakemake's output for a study with the tasks of two, whose stages use all environments."""
    studies = ("config.yaml", "studies/repulsion-classification.yaml")
    command = [sys.executable, "-m", "snakemake", "--containerize", "--configfile", *studies]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ended.returncode:
        sys.exit(f"headroom: snakemake --containerize failed:\n{ended.stderr}")
    return ended.stdout


def post_deploy(printed: str) -> str:
    """Return the steps that run the post-deploy scripts of the environments in a Dockerfile."""
    found = [(f"{source}.post-deploy.sh", prefix) for source, prefix in ENVIRONMENT.findall(printed)]
    steps = [POST_DEPLOY.format(script=name, prefix=prefix) for name, prefix in found if (ROOT / name).exists()]
    return "".join([COMPILER, *steps]) if steps else ""


def main() -> None:
    """Write the Dockerfile."""
    printed = containerize()
    (HERE / "Dockerfile").write_text(NOTE + printed + post_deploy(printed), "utf-8")


if __name__ == "__main__":
    main()
