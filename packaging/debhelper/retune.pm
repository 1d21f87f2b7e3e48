#!/usr/bin/perl
# debhelper sequence `retune`: dh --with retune runs dh_retune.

use strict;
use warnings;
use Debian::Debhelper::Dh_Lib;

# dh_strip lays out files anew and takes debug information apart; dh_makeshlibs, which follows it,
# and dh_shlibdeps and dh_md5sums after that look at the files that are installed.
insert_after('dh_strip', 'dh_retune');

1;
