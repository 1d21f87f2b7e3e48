# See fill_words: a 750 has no wider registers than those for floating point.

        .include fill_words
