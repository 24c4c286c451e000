# Prints what zsh offers when TAB is typed at the end of a command line, one a line, sorted.
#
# usage: zsh -f offered.zsh COMPLETION LINE     COMPLETION: a file made by `kerncast --completion zsh`
zmodload zsh/zpty
offers=$(mktemp)

# In an interactive shell of its own, whose compadd, with which every completion function offers, writes down what fits.
cat >$offers.rc <<END
PROMPT= RPROMPT=
autoload -Uz compinit && compinit -u -D
source ${(q)1:a}
compadd() {
	local -a fitting
	if [[ " \$* " == *' -'(O|A|D)' '* ]]; then # asked by a function that goes on with the answer
		builtin compadd "\$@"
		return
	fi
	builtin compadd -A fitting "\$@"
	((\$#fitting)) && print -rl -- \$fitting >>$offers
	builtin compadd "\$@"
}
ended() { print ended >>$offers; }
comppostfuncs=(ended)
bindkey '^I' complete-word
print ready >>$offers
END
zpty -b shell zsh -f -i
zpty -w shell "source $offers.rc; rm $offers.rc"
wait_for() { # LINE of the file
	local i
	for ((i = 0; i < 500; i++)); do
		zpty -rt shell ignored 2>/dev/null
		grep -qx "$1" $offers && return
		sleep 0.02
	done
	print -u2 "zsh said nothing"
	rm $offers
	exit 1
}
wait_for ready
: >$offers
zpty -nw shell "$2"$'\t'
wait_for ended
grep -vx ended $offers | sort -u
rm $offers
zpty -d shell
