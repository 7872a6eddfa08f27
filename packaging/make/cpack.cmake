# The .deb and the .rpm of the tree STAGE, in the folder OUT. The file that includes this one sets both, VERSION, and
# ARCHITECTURE as the format spells it. The program is static, so the packages depend on nothing.
set(CPACK_PACKAGE_NAME oomdoctor)
set(CPACK_PACKAGE_VERSION ${VERSION})
set(CPACK_PACKAGE_VENDOR oomdoctor)
set(CPACK_PACKAGE_CONTACT "The oomdoctor authors <oomdoctor@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds out why a training job ran out of memory")
set(CPACK_PACKAGE_DESCRIPTION
    "oomdoctor reads the logs of a training job and shows what used the memory.
It cites the lines that prove the cause and ranks fixes with computed savings.")
set(CPACK_PACKAGE_FILE_NAME oomdoctor)
set(CPACK_PACKAGE_DIRECTORY ${OUT})
set(CPACK_INSTALLED_DIRECTORIES "${STAGE};/")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_STRIP_FILES OFF)
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_TOPLEVEL_TAG Linux)
set(CPACK_SYSTEM_NAME Linux)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${ARCHITECTURE})
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)  # lintian and old versions of dpkg refuse zstd
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE https://github.com/oomdoctor/oomdoctor)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_ARCHITECTURE ${ARCHITECTURE})
set(CPACK_RPM_PACKAGE_DESCRIPTION ${CPACK_PACKAGE_DESCRIPTION})
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_URL https://github.com/oomdoctor/oomdoctor)
set(CPACK_RPM_PACKAGE_RELEASE 1)
set(CPACK_RPM_PACKAGE_AUTOREQPROV OFF)
set(CPACK_RPM_COMPRESSION_TYPE xz)
# Folders of the system belong to other packages.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man/man1 /usr/share/man /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/share/zsh /usr/share/zsh/site-functions /usr/share/fish
    /usr/share/fish/vendor_completions.d /usr/share/doc)
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define __os_install_post %{nil}
%define _build_id_links none
%define __strip /bin/true")
