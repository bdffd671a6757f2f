# Manual pages and shell completion: the programs print them, the build keeps them in
# <build>/share, and `cmake --install` puts them where man and the shells look.
include(GNUInstallDirs)
set(manual_share ${PROJECT_BINARY_DIR}/share)

# generated_file(PATH COMMAND…): <build>/share/PATH is what COMMAND prints. It is made with
# everything else; builds with sanitizers are not for installing.
function(generated_file path)
  if(IMPRINT_SANITIZE)
    return()
  endif()
  cmake_path(GET path PARENT_PATH folder)
  add_custom_command(OUTPUT ${manual_share}/${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${manual_share}/${folder}
    COMMAND ${ARGN} > ${manual_share}/${path}
    DEPENDS ${ARGV1} ${PROJECT_SOURCE_DIR}/cmake/manual_of_help.awk
    VERBATIM)
  string(REPLACE "/" "_" name generated_${path})
  add_custom_target(${name} ALL DEPENDS ${manual_share}/${path})
  install(FILES ${manual_share}/${path} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()

# add_manual_of_help(PROGRAM): section 8, for those whose --help tells everything.
function(add_manual_of_help program)
  string(TIMESTAMP date %Y-%m-%d UTC) # SOURCE_DATE_EPOCH is heeded
  generated_file(man/man8/${program}.8 ${program} --help | awk
    -v name=${program} -v date=${date} -v version=${PROJECT_VERSION}
    -f ${PROJECT_SOURCE_DIR}/cmake/manual_of_help.awk)
endfunction()
