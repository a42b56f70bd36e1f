# Entry point of all studies; the workflow is in workflow/.
include: "workflow/Snakefile"


workflow.default_target = "all"
