# Run at build time (cmake -P) with FOLDER and OUTPUT: writes the page of `ddp-exp report` into a C++ file, so that the
# program needs no file beside it. The scripts only define things, but for main.js, which comes last.
file(GLOB scripts "${FOLDER}/*.js")
list(SORT scripts)
list(REMOVE_ITEM scripts "${FOLDER}/main.js")
set(script "")
foreach(file ${scripts} "${FOLDER}/main.js")
  file(READ "${file}" text)
  string(APPEND script "${text}\n")
endforeach()
file(READ "${FOLDER}/report.html" html)
file(READ "${FOLDER}/report.css" style)
file(WRITE "${OUTPUT}" "#include \"report/page_text.h\"

namespace ddp::report {

const PageText kPageText = {
    .html = R\"ddp_page(${html})ddp_page\",
    .style = R\"ddp_page(${style})ddp_page\",
    .script = R\"ddp_page(${script})ddp_page\",
};

}  // namespace ddp::report
")
