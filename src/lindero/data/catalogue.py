"""Published data sets that are known by name: the file in a folder of data, and the set on OpenML.

Sizes are given, so that a set of the same name and another size is not taken for the one meant.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Published:
    """A published data set.

    Attributes
    ----------
    about : str
        What it is, in a few words.
    n_rows : int
        Rows.
    file : str
        Its file in the folder of data.
    openml : str or None
        Its name on OpenML; None where that does not have it in this form.
    n_features : int or None
        Columns, where the file may be without its last ones, which are zero.
    """

    about: str
    n_rows: int
    file: str
    openml: str | None = None
    n_features: int | None = None


CATALOGUE = {
    # UCI, as naive Bayes and its discriminative relatives are compared on
    "breast": Published(
        "Wisconsin breast cancer, 9 grades, 2 classes", 699, "uci_breast.csv.gz", "breast-w"
    ),
    "cleve": Published("Cleveland heart disease, 2 classes", 303, "uci_cleve.csv.gz", "heart-c"),
    "corral": Published("six truth values, one of them a decoy", 128, "uci_corral.csv.gz"),
    "crx": Published(
        "Australian credit screening, 2 classes", 690, "uci_crx.csv.gz", "credit-approval"
    ),
    "german": Published("German credit, 2 classes", 1000, "uci_german.csv.gz", "credit-g"),
    "heart": Published("Statlog heart, 2 classes", 270, "uci_heart.csv.gz", "heart-statlog"),
    "hepatitis": Published(
        "survival of hepatitis, many missing", 155, "uci_hepatitis.csv.gz", "hepatitis"
    ),
    "iris": Published("three kinds of iris, 4 lengths", 150, "uci_iris.csv.gz", "iris"),
    "lymphography": Published("lymphography, 4 classes", 148, "uci_lymphography.csv.gz", "lymph"),
    "vote": Published("votes of the US House in 1984, 2 parties", 435, "uci_vote.csv.gz", "vote"),
    # KEEL, rare classes
    "abalone19": Published(
        "abalone, age 19 against the rest, 1:129", 4174, "keel_abalone19.csv.gz"
    ),
    "page-blocks0": Published("blocks of pages, 1:9", 5472, "keel_page-blocks0.csv.gz"),
    "segment0": Published("segments of pictures, 1:6", 2308, "keel_segment0.csv.gz"),
    "shuttle-c0-vs-c4": Published("space shuttle, 1:14", 1829, "keel_shuttle-c0-vs-c4.csv.gz"),
    "winequality-red-4": Published(
        "red wine of grade 4, 1:29", 1599, "keel_winequality-red-4.csv.gz"
    ),
    "yeast4": Published("sites of proteins in yeast, 1:28", 1484, "keel_yeast4.csv.gz"),
    # LIBSVM and others, larger
    "a9a": Published("Adult, income above 50 000, sparse", 32561, "a9a.svm.gz", None, 123),
    "a9a-test": Published("the test rows of a9a", 16281, "a9a.t.svm.gz", None, 123),
    "cod-rna": Published("non-coding RNA, columns standardised", 59535, "cod_rna.npz"),
    "ijcnn1": Published("engine misfires, 1:9", 49990, "ijcnn1.svm.gz", None, 22),
    "letter": Published("printed letters, 26 classes", 20000, "letter.csv.gz", "letter"),
    "mnist": Published("handwritten digits, 28×28, 10 classes", 70000, "mnist.npz", "mnist_784"),
    "svmguide3": Published("vehicles, 22 columns, 2 classes", 1243, "svmguide3.svm.gz", None, 22),
    "w8a": Published("web pages, sparse, 1:33", 49749, "w8a.svm.gz", None, 300),
    # streams
    "elec2": Published(
        "prices of electricity, up or down, in time", 45312, "stream_elec2.csv.gz", "electricity"
    ),
    "weather": Published("rain at Offutt, day by day", 18159, "stream_noaa_weather.csv.gz"),
    "sea": Published("SEA concepts, four in turn", 50000, "stream_sea.csv.gz"),
    "usenet1": Published("messages, interest changes", 1500, "stream_usenet1.csv.gz"),
    # ranking
    "mq2008-train": Published(
        "LETOR MQ2008 fold 1, 471 queries", 9630, "mq2008_fold1_train.svm.gz", None, 46
    ),
    "mq2008-vali": Published(
        "LETOR MQ2008 fold 1, 157 queries", 2707, "mq2008_fold1_vali.svm.gz", None, 46
    ),
    "mq2008-test": Published(
        "LETOR MQ2008 fold 1, 156 queries", 2874, "mq2008_fold1_test.svm.gz", None, 46
    ),
    # regression
    "abalone": Published("rings of abalone", 4177, "reg_abalone.csv.gz", "abalone"),
    "cadata": Published("houses in California", 20640, "reg_cadata.csv.gz", "houses"),
    "cpusmall": Published("load of a processor", 8192, "reg_cpusmall.csv.gz", "cpu_small"),
    # Rätsch's benchmark
    "ida-banana": Published("IDA benchmark: banana", 5300, "ida_banana.npz", "banana"),
    "ida-breast-cancer": Published("IDA benchmark: breast cancer", 277, "ida_breast_cancer.npz"),
    "ida-diabetis": Published("IDA benchmark: diabetis, standardised", 768, "ida_diabetis.npz"),
    "ida-german": Published("IDA benchmark: German credit", 1000, "ida_german.npz"),
    "ida-heart": Published("IDA benchmark: heart", 270, "ida_heart.npz"),
    "ida-titanic": Published("IDA benchmark: titanic", 2201, "ida_titanic.npz"),
}
