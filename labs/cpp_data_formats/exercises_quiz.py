"""Check yourself: four questions of lesson 21."""

from labs.kit.exercise import Question

HOLDS_ANSWERS = True  # the sandbox of the grader gets a stub of this module

round_trip = Question(
    "round_trip",
    "A program reads a file into a column-major matrix, writes it back, and the two files are equal. What does that show?",
    {
        "a": "the layout is right",
        "b": "nothing about the layout",
        "c": "the layout is wrong",
        "d": "that the matrix is symmetric",
    },
    "b",
    {
        "a": "Reading and writing make the same mistake, and the second one undoes the first.",
        "b": "Whatever order it believes in, it takes the numbers out as it put them in. Only a number whose place you know "
        "from elsewhere shows the layout: a known file.",
        "c": "It might be right. The round trip does not tell.",
        "d": "Every matrix survives a round trip, symmetric or not.",
    },
)

zero_field = Question(
    "zero_field",
    "One field of a CSV file with a million rows is empty. Which answer of a reader will cost you most?",
    {
        "a": "an error that names line and column",
        "b": "nan",
        "c": "0",
        "d": "an error without a place",
    },
    "c",
    {
        "a": "It costs a minute: you look at that line, and decide.",
        "b": "nan spreads, so the loss becomes nan, and you notice. Better still if you asked for nan yourself.",
        "c": "Zero is a number like any other. The model trains on it, a bit worse, and nobody ever asks why.",
        "d": "Annoying. But you know that something is wrong.",
    },
)

border = Question(
    "border",
    "Two ranks share a CSV file by bytes. The border falls exactly on the first byte of a line. Who reads that line?",
    {
        "a": "the first rank, always",
        "b": "the second rank, always",
        "c": "both",
        "d": "either, as long as both ranks compute that border in the same way",
    },
    "d",
    {
        "a": "It may be so. Must it be?",
        "b": "It may be so, and that is the usual choice: a line belongs to the rank in whose share it starts. Must it be?",
        "c": "Then it is trained on twice.",
        "d": "Lines get lost or doubled when one rank's end and the next one's begin come from two different rules.",
    },
)

compress_noise = Question(
    "compress_noise",
    "You store float64 numbers drawn at random in HDF5, with gzip. How large is the file?",
    {
        "a": "about half of the numbers' bytes",
        "b": "almost as large as without gzip",
        "c": "a tenth",
        "d": "larger than as CSV",
    },
    "b",
    {
        "a": "gzip finds what repeats. What repeats in the last digits of random numbers?",
        "b": "The last bits of measured or random numbers are noise, and noise has no shorter form. Integers, labels, masks "
        "and zeros shrink; so do numbers that were rounded before.",
        "c": "Such factors come from data with much repetition: labels, masks, zeros.",
        "d": "CSV spends about 20 characters on such a number, HDF5 eight bytes.",
    },
)
