# The source archive, made in a clone that is thrown away.
load common

make_clone() { # a commit that says 9.8.0-dev
	git clone -q --shared --no-checkout "$root" clone
	cd clone || return 1
	git config user.name "kerncast test"
	git config user.email test@kerncast.invalid
	git sparse-checkout set --no-cone /CHANGELOG.md /LICENSE /store/common/version.h /tools/manual/install.md /scripts/package/ /.gitattributes
	git checkout -q --detach
	sed -i 's/^#define KC_VERSION .*/#define KC_VERSION "9.8.0-dev"/' store/common/version.h
	git commit -qam "Try"
}

@test "the source archive: the same bytes each time, of the commit alone, which it names" {
	local commit
	make_clone
	SOURCE_DATE_EPOCH=1 scripts/package/source one
	touch -d '2001-01-01' LICENSE
	scripts/package/source two
	cmp one/kerncast-9.8.0-dev.tar.gz two/kerncast-9.8.0-dev.tar.gz
	commit=$(git rev-parse HEAD)
	equal "$(scripts/package/commit)" "${commit:0:12}" "commit"
	mkdir ../elsewhere
	tar -xzf one/kerncast-9.8.0-dev.tar.gz -C ../elsewhere
	equal "$(../elsewhere/kerncast-9.8.0-dev/scripts/package/commit)" "${commit:0:12}" "commit that the archive tells"
	equal "$(../elsewhere/kerncast-9.8.0-dev/scripts/package/commit --time)" "$(git log -1 --format=%ct)" "its time"
	equal "$(SOURCE_DATE_EPOCH=7 ../elsewhere/kerncast-9.8.0-dev/scripts/package/commit --time)" 7 "the time that was given"
	echo more >>LICENSE
	equal "$(scripts/package/commit)" "${commit:0:12}+" "commit with changes"
	run scripts/package/source three
	equal "$status" 1 "exit status"
	contains "$output" "files differ from the commit"
	cd ../elsewhere/kerncast-9.8.0-dev
	run scripts/package/source three
	equal "$status" 1 "exit status where there is no clone"
}
