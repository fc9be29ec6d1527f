"""Packages: what the corpus is made of, in the order in which it is fetched.

Debian packages with documentation in HTML come first, PyPI source distributions after them.
Packages of one family stand together: adjacent versions, or the same library documented for several
languages.  Their pages are near-duplicates that nobody planted.  A family of which only some
members are in the release of this machine has fewer near-duplicates; unknown packages are left out.
"""

FAMILIES = (
    "llvm-13-doc llvm-14-doc llvm-15-doc llvm-16-doc llvm-19-doc",
    "libboost1.74-doc libboost1.81-doc",
    "libbiojava4-java-doc libbiojava5-java-doc libbiojava6-java-doc",
    "libgtkmm-2.4-doc libgtkmm-3.0-doc libgtkmm-4.0-doc libglibmm-2.4-doc libglibmm-2.68-doc",
    "libstdc++-11-doc libstdc++-12-doc",
    "libcommons-math-java-doc libcommons-math3-java-doc libcommons-lang3-java-doc",
    "libdune-grid-doc libdune-istl-doc libdune-common-doc libdune-localfunctions-doc",
    "python3.11-doc python-django-doc python-sqlalchemy-doc apache2-doc cmake-doc gradle-doc",
    "ironic-doc cinder-doc heat-doc keystone-doc octavia-doc",
    "libxerces-c-doc libxerces2-java-doc libxalan-c-doc libxalan2-java-doc",
    "libghc-gi-gio-doc libghc-gi-glib-doc libghc-gi-gdk-doc libghc-gtk-doc libghc-gtk3-doc",
    "gnome-user-docs cargo-doc erlang-doc ghc-doc groovy-doc derby-doc fop-doc db5.3-doc",
    "libfastutil-java-doc libtrove3-java-doc libjogl2-java-doc libapache-poi-java-doc",
    "openjdk-17-doc libopenjfx-java-doc scala-doc",
    "libsbml5-doc libsbml5-perl-doc",
    "qtbase5-doc-html qtdeclarative5-doc-html wx3.2-doc fltk1.3-doc efl-doc ogre-1.12-doc",
    "dcmtk-doc libgecode-doc libpcl-doc libvisp-doc libcoin-doc openscenegraph-doc elastix-doc",
    "seqan3-doc libball1.5-doc libcrypto++-doc liblapack-doc libeigen3-doc libopenvdb-doc",
    "lilypond-doc-html twisted-doc python-pandas-doc python-dask-doc dpdk-doc rdkit-doc",
    "libghc-openglraw-doc libghc-agda-doc libghc-ghc-lib-parser-doc libghc-pandoc-doc",
    "libhbci4j-core-java-doc libjfreechart-java-doc libjmol-java-doc uima-doc weka-doc ant-doc",
    "singular-doc singular-dev-doc clhep-doc crystal-doc lorene-doc pike8.0-doc libjuce-doc",
    "libmed-doc libxcb-doc libpwiz-doc libviennacl-doc imagemagick-6-doc grass-dev-doc",
    "gnuradio-doc casacore-doc libarm-compute-doc libcegui-mk2-doc rheolef-doc dolfin-doc",
    "racket-doc simbody-doc petsc3.18-doc rust-doc rust-web-doc sagemath-doc",
    "sumo-doc libghc-gi-gtk-doc augustus-doc libbiojava-java-doc libghc-language-python-doc",
    "libghc-gi-gtk-hs-doc libgtk-4-doc cargo-web-doc libghc-lambdahack-doc halide14-api-doc",
    "libmwaw-doc sofia-sip-doc libsc-doc libvigraimpex-doc libghc-xmonad-contrib-doc",
    "libcoap3-doc libgrokj2k1-doc liblucene++-doc libmia-2.4-doc libpuma-doc libdap-doc",
    "libopenshot-audio-doc libwvstreams4.6-doc libirrlicht-doc libstaroffice-doc groonga-doc",
    "libghc-sbv-doc libcastor-java-doc libpappsomspp-doc libosl-doc libsaxonb-java-doc",
    "libghc-clash-prelude-doc coinor-libipopt-doc phcpack-doc icu-doc agda-stdlib-doc",
    "glbinding-doc fwupd-doc libjaxb-java-doc speech-tools-doc libocamlnet-ocaml-doc",
    "jython-doc liblwjgl-java-doc libghc-what4-doc libjackson-json-java-doc python-taurus-doc",
    "pylint-doc ffmpeg-doc mygui-doc libswingx-java-doc opendnssec-doc libghc-sdl2-doc",
    "libitpp-doc libjnr-constants-java-doc libghc-lens-doc libaxis-java-doc numba-doc",
    "libghc-clash-lib-doc libeliom-ocaml-doc libosmogsm-doc libghc-src-exts-doc",
    "libghc-basement-doc starlink-ttools-java-doc dar-docs openscap-doc python-ase-doc",
    "python-pymatgen-doc libpixelmed-java-doc libfastrtps-doc libopm-material-doc",
    "libstatgen-doc checkstyle-doc pipewire-doc libzookeeper-java-doc libsvn-doc",
    "libjs-of-ocaml-doc libimglib2-java-doc libgeos-doc guitarix-doc libhtsjdk-java-doc",
    "libfrobby-doc libopenbabel-doc libqmi-glib-doc antlr4-doc libgtk-3-doc",
    "libpdfbox-java-doc libopm-common-doc libjibx1.2-java-doc liblablgtk2-ocaml-doc",
    "lava-server-doc libspandsp-doc openni-doc phosh-doc python-fonttools-doc",
    "libwebsocketpp-doc libghc-github-doc nim-doc libexiv2-doc python-mdanalysis-doc",
    "starlink-topcat-java-doc libghc-diagrams-lib-doc libjide-oss-java-doc libghc-rio-doc",
    "waylandpp-doc libjcsp-java-doc libgstreamermm-1.0-doc libglib2.0-doc dbus-1-doc",
    "libgloox-doc liblemon-doc gyoto-doc janus-doc libsnpeff-java-doc hibiscus-doc",
    "libcommons-collections4-java-doc libjung-free-java-doc libbatteries-ocaml-doc",
    "libjts-java-doc libopenshot-doc liblog4cxx-doc",
    "linux-doc-6.1 linux-doc-6.12 llvm-22-doc clang-22-doc lazarus-doc-2.2 sqlite3-doc",
    "python-statsmodels-doc python-scipy-doc python-astropy-doc python-escript-doc libace-doc",
    "coinor-libclp-doc coinor-libcoinutils-doc libopenmesh-doc giac-doc libmbedtls-doc vtk9-doc",
)

# Source distributions of PyPI with documentation, several versions of each.
SDISTS = (
    "Django==4.1.13", "Django==4.2.16", "Django==5.0.9", "Sphinx==7.2.6", "Sphinx==7.3.7",
    "Twisted==23.10.0", "Twisted==24.7.0",
)  # fmt: skip


def debian() -> list[str]:
    """Return the names of all Debian packages, in order."""
    return [name for family in FAMILIES for name in family.split()]
