# The parallel text, in one form whatever it comes from.
TEXTS = texts("translation", *SPLITS, *translation.corpus.far_names)

if translation.corpus.source == "generated":

    rule generate:
        input:
            code=sources("headroom.stages.generate"),
        output:
            TEXTS,
            [f"{RESULTS}/translation/corpus/{name}.conllu" for name in (*SPLITS, *translation.corpus.far_names)],
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/generate.log",
        benchmark:
            f"{BENCHMARKS}/translation/generate.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=15,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(translation.corpus, leave_out=["source"]),
        shell:
            "python -m headroom generate --output {params.directory} {params.settings} > {log} 2>&1"

elif translation.corpus.source == "catalogue":

    rule download:
        input:
            code=sources("headroom.stages.download", data=["headroom/data/catalogue.yaml"]),
        output:
            TEXTS,
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/download.log",
        benchmark:
            f"{BENCHMARKS}/translation/download.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(translation.corpus, leave_out=["source"]),
            mirror=mirror_flag,
        shell:
            "python -m headroom download --output {params.directory} {params.settings} {params.mirror} > {log} 2>&1"

elif translation.corpus.source == "sacrebleu":

    rule download:
        input:
            code=sources("headroom.stages.download_sacrebleu"),
        output:
            TEXTS,
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/download.log",
        benchmark:
            f"{BENCHMARKS}/translation/download.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(2000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(translation.corpus, leave_out=["source", "far"]) + far_flags(translation.corpus),
        shell:
            "python -m headroom download_sacrebleu --output {params.directory} {params.settings} > {log} 2>&1"

else:

    rule collect:
        input:
            code=sources("headroom.stages.collect"),
            files=list(translation.corpus.paths.values()),
        output:
            TEXTS,
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/collect.log",
        benchmark:
            f"{BENCHMARKS}/translation/collect.tsv"
        conda:
            "../../envs/plain.yaml"
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=30,
        params:
            directory=subpath(output[0], parent=True),
            languages=[translation.corpus.source_language, translation.corpus.target_language],
            files=" ".join(
                f"--{'far ' + name if name in translation.corpus.far else name} "
                f"{shlex.quote(pair.source)} {shlex.quote(pair.target)}"
                for name, pair in translation.corpus.pairs.items()
            ),
        shell:
            "python -m headroom collect --output {params.directory} {params.files} --source-language {params.languages[0]:q} "
            "--target-language {params.languages[1]:q} > {log} 2>&1"
