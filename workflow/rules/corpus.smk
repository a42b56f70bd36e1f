# The parallel text, in one form whatever it comes from.
TEXTS = texts("translation", *SPLITS, *translation.corpus.far_names)

if translation.corpus.source == "generated":

    rule generate:
        input:
            code=sources("headroom.generate"),
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
            mem_mb=2000,
            runtime=15,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(translation.corpus, leave_out=["source"]),
        shell:
            "python -m headroom.generate --output {params.directory} {params.settings} > {log} 2>&1"

elif translation.corpus.source == "catalogue":

    rule download:
        input:
            code=sources("headroom.download", data=["headroom/data/catalogue.yaml"]),
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
            mem_mb=2000,
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=flags(translation.corpus, leave_out=["source"]),
        # where the bytes come from does not matter, their checksums do: the mirror is no param
        shell:
            "python -m headroom.download --output {params.directory} {params.settings} "
            + (f"--mirror {shlex.quote(study.mirror)} " if study.mirror else "")
            + "> {log} 2>&1"

else:

    rule collect:
        input:
            code=sources("headroom.collect"),
            train=[translation.corpus.train.source, translation.corpus.train.target],
            valid=[translation.corpus.valid.source, translation.corpus.valid.target],
            test=[translation.corpus.test.source, translation.corpus.test.target],
            far=[path for pair in translation.corpus.far.values() for path in (pair.source, pair.target)],
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
            mem_mb=4000,
            runtime=30,
        params:
            directory=subpath(output[0], parent=True),
            languages=[translation.corpus.source_language, translation.corpus.target_language],
            far=" ".join(
                f"--far {name} {shlex.quote(pair.source)} {shlex.quote(pair.target)}"
                for name, pair in translation.corpus.far.items()
            ),
        shell:
            "python -m headroom.collect --output {params.directory} --train {input.train:q} --valid {input.valid:q} "
            "--test {input.test:q} {params.far} --source-language {params.languages[0]:q} "
            "--target-language {params.languages[1]:q} > {log} 2>&1"
