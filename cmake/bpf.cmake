# BPF programs, compiled with clang and carried inside the library. Optional: without clang or
# libbpf the room is built with its no_bpf.cc instead, and says so when it is asked to run.
find_program(KERNELX_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
pkg_check_modules(libbpf IMPORTED_TARGET libbpf>=1.0)
if(KERNELX_CLANG AND libbpf_FOUND)
  set(KERNELX_BPF ON)
else()
  set(KERNELX_BPF OFF)
  message(STATUS "BPF: off (needs clang and libbpf-dev); recording and acting will say so")
endif()

# kernelx_bpf(ROOM NAME): compiles ROOM/NAME.bpf.c and links it into kernelx_ROOM as the bytes from
# kx_NAME_bpf_begin to kx_NAME_bpf_end. A room with BPF has *_bpf.cc for it and no_bpf.cc without.
function(kernelx_bpf room name)
  set(source ${PROJECT_SOURCE_DIR}/kernelx/${room}/${name}.bpf.c)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernelx/record/*.h)
  add_custom_command(OUTPUT ${object}
    COMMAND ${KERNELX_CLANG} -target bpf -D__TARGET_ARCH_x86 -mcpu=v3 -O2 -g -Wall -Werror
            -Wno-unused-function -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -I${PROJECT_SOURCE_DIR}/kernelx/record -c ${source} -o ${object}
    DEPENDS ${source} ${headers} COMMENT "Compiling BPF program ${name}" VERBATIM)
  set(carrier ${CMAKE_CURRENT_BINARY_DIR}/${name}_bpf_bytes.cc)
  file(CONFIGURE OUTPUT ${carrier} @ONLY CONTENT [[
__asm__(
    ".section .rodata\n.balign 16\n.global kx_@name@_bpf_begin\n.global kx_@name@_bpf_end\n"
    "kx_@name@_bpf_begin:\n.incbin \"@object@\"\nkx_@name@_bpf_end:\n.previous\n");
]])
  set_source_files_properties(${carrier} PROPERTIES OBJECT_DEPENDS ${object})
  target_sources(kernelx_${room} PRIVATE ${carrier})
  target_link_libraries(kernelx_${room} PRIVATE PkgConfig::libbpf)
endfunction()
