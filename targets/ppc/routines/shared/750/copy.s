# See copy_words: a 750 has no wider registers than those for floating point.

        .include copy_words
