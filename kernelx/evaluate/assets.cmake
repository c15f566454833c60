# The page's style, script and chart library become constants of the evaluate room: nothing is
# looked up at run time. Chart.js is assets/chart.umd.min.js, 4.6.1 as published on npm without its
# last line (the name of a source map); its licence is assets/chart.LICENSE.md.
set(KERNELX_ASSETS ${CMAKE_CURRENT_LIST_DIR}/assets)
foreach(asset report.css report.js chart.umd.min.js)
  string(MAKE_C_IDENTIFIER ${asset} name)
  file(READ ${KERNELX_ASSETS}/${asset} ${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KERNELX_ASSETS}/${asset})
endforeach()
configure_file(${KERNELX_ASSETS}/report_assets.cc.in ${CMAKE_CURRENT_BINARY_DIR}/report_assets.cc @ONLY)
target_sources(kernelx_evaluate PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/report_assets.cc)
