#!/bin/sh
# Runs a kit and writes result.txt:  sh run.sh
#
# ROUNDS  how often old and new are timed in turn (3)
# MICROS  microseconds of one of a case's runs (2000)
# RUN     a command that starts programs of the machine, where this is another: an emulator
cd "$(dirname "$0")" || exit 2
rounds=${ROUNDS:-3} micros=${MICROS:-2000} result=result.txt wrong=0

# start SIDE PROGRAM [ARGUMENT...]: a program with the library of a side
start() {
    side=$1
    shift
    if [ -f loader ]; then
        $RUN ./loader --library-path "$PWD/$side:$PWD/with" "$@"
    else
        LD_LIBRARY_PATH="$PWD/$side:$PWD/with" $RUN "$@"
    fi
}

# said SIDE WHAT: what comes in, with the side and what it is about in front
said() {
    while read -r said; do echo "$2 $1 $said"; done
}

main() {
    cat about
    echo "system $(uname -srm)"
    sed -n '/^[^:]*[^:[:space:]][[:space:]]*:/s/^/cpuinfo /p' /proc/cpuinfo |
        grep -vi serial | sort -u | head -n 60
    while read -r check routine count sum; do
        old=
        for side in $(cat sides); do
            got=$(start "$side" ./probe check "$routine" < checks; echo "status $?")
            got=$(echo $got)
            echo "got $side $routine $got"
            [ "$got" = "$check $routine $count $sum status 0" ] || {
                # What the old library does, too, is no fault of the new one.
                [ -n "$old" ] && [ "$got" != "$old" ] && echo "wrong $side $routine: $got"
                [ -n "$old" ] || echo "unlike $side $routine: $got"
            }
            old=${old:-$got}
        done
    done < expected
    round=0
    while [ "$round" -lt "$rounds" ]; do
        round=$((round + 1))
        for side in $(cat sides); do
            start "$side" ./probe time "$micros" < times | said "$side" "round $round"
        done
    done
    for program in programs/*; do
        [ -x "$program" ] || continue
        first=
        for side in $(cat sides); do
            sum=$({ start "$side" "./$program" < /dev/null 2>&1; echo "status $?"; } | cksum)
            echo "program $side ${program#programs/} $sum"
            first=${first:-$sum}
            [ "$first" = "$sum" ] || echo "wrong $side program ${program#programs/}"
        done
    done
    echo end
}

main > "$result" 2> errors.txt
if grep '^wrong ' "$result"; then
    wrong=1
    echo "A library does not do what it must: do not install it."
fi
echo "Written: $PWD/$result"
exit $wrong
