# The starter study and every other one: the workflow itself is in workflow/.
include: "workflow/Snakefile"


workflow.default_target = "all"
