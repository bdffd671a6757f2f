# How every target of ours is compiled: warnings are errors, hardening is on, and includes start at
# the top of the tree (#include "lib/base/log.h"). A layer is allowed by linking to it.
add_library(project_options INTERFACE)
target_include_directories(project_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(project_options INTERFACE _GNU_SOURCE IMPRINT_VERSION="${PROJECT_VERSION}")
target_compile_options(project_options INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wundef
  -Wpointer-arith -Wcast-align -Wwrite-strings -Wvla
  -fstack-protector-strong -fno-common)
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT IMPRINT_SANITIZE)
  target_compile_definitions(project_options INTERFACE _FORTIFY_SOURCE=2)
endif()
target_link_options(project_options INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)

if(IMPRINT_FAULTS)
  target_compile_definitions(project_options INTERFACE IMPRINT_FAULTS)
endif()

if(IMPRINT_SANITIZE)
  target_compile_options(project_options INTERFACE
    -fsanitize=${IMPRINT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(project_options INTERFACE -fsanitize=${IMPRINT_SANITIZE})
endif()

if(IMPRINT_FUZZ) # so that the fuzzers see which of our code an input reached
  target_compile_options(project_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
