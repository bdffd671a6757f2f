# librbd and librados as imported targets: Debian 12 ships neither a .pc file nor a CMake package.
find_path(CEPH_INCLUDE_DIR rbd/librbd.h)
find_library(RBD_LIBRARY rbd)
find_library(RADOS_LIBRARY rados)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Ceph REQUIRED_VARS CEPH_INCLUDE_DIR RBD_LIBRARY RADOS_LIBRARY)

foreach(name RADOS RBD)
  if(Ceph_FOUND AND NOT TARGET Ceph::${name})
    add_library(Ceph::${name} UNKNOWN IMPORTED)
    set_target_properties(Ceph::${name} PROPERTIES
      IMPORTED_LOCATION ${${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${CEPH_INCLUDE_DIR})
  endif()
endforeach()
