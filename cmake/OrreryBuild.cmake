# Compiler settings and the one way to declare a module.

find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE)
    # Clones in other folders share what was compiled: paths inside the source count from its root.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ORRERY_CCACHE})
endif()
find_program(ORRERY_MOLD mold)
if(ORRERY_SANITIZE MATCHES thread)
    # Mold keeps offering the symbols that the map hides.
    add_link_options(-fuse-ld=bfd -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/tsan_exports.map)
elseif(ORRERY_MOLD)
    add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)

add_library(orrery_options INTERFACE)
# Targets with the property ORRERY_TESTS_ONLY are tests. They are half of the code and take the longest to compile; what they test
# is optimised, they are not.
set(is_test $<BOOL:$<TARGET_PROPERTY:ORRERY_TESTS_ONLY>>)
target_compile_options(orrery_options INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Werror -fno-omit-frame-pointer
    $<$<CONFIG:Release>:$<IF:${is_test},-O0,-O2> -g1>)
target_include_directories(orrery_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(orrery_options INTERFACE Threads::Threads)
if(ORRERY_SANITIZE)
    # Of address and undefined, tests get address alone. What they test gets everything.
    if(ORRERY_SANITIZE MATCHES address)
        set(sanitize_tests address)
    else()
        set(sanitize_tests ${ORRERY_SANITIZE})
    endif()
    target_compile_options(orrery_options INTERFACE
        $<${is_test}:-fsanitize=${sanitize_tests}> $<$<NOT:${is_test}>:-fsanitize=${ORRERY_SANITIZE}>
        -fno-sanitize-recover=all)
    target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE})
    if(ORRERY_SANITIZE MATCHES undefined)
        # These two would nearly double the compile time; the address sanitizer stops at what they find.
        target_compile_options(orrery_options INTERFACE $<$<NOT:${is_test}>:-fno-sanitize=null,vptr>)
    endif()
    target_compile_definitions(orrery_options INTERFACE ORRERY_DCHECKS=1)
    # Compilers warn of things that are not so in instrumented code; the release build keeps -Werror.
    target_compile_options(orrery_options INTERFACE -Wno-error)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(orrery_options INTERFACE ORRERY_DCHECKS=1)
endif()

# Instrumented builds share precompiled headers (make asan, make tsan, make fuzz).
option(ORRERY_PRECOMPILE "Precompile the common headers" OFF)
if(ORRERY_PRECOMPILE)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
        target_compile_options(orrery_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    if(ORRERY_CCACHE)
        # What ccache asks for before it keeps anything that was compiled with such a header.
        set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${ORRERY_CCACHE})
    endif()
    if(NOT EXISTS ${CMAKE_BINARY_DIR}/empty.cc)
        file(WRITE ${CMAKE_BINARY_DIR}/empty.cc "")
    endif()
    find_package(fmt REQUIRED)
    find_package(absl REQUIRED)
    add_library(orrery_precompiled OBJECT ${CMAKE_BINARY_DIR}/empty.cc)
    target_link_libraries(orrery_precompiled PRIVATE orrery_options fmt::fmt absl::flat_hash_map)
    target_precompile_headers(orrery_precompiled PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
    if(ORRERY_TESTS)
        find_package(GTest REQUIRED)
        add_library(orrery_precompiled_tests OBJECT ${CMAKE_BINARY_DIR}/empty.cc)
        set_target_properties(orrery_precompiled_tests PROPERTIES ORRERY_TESTS_ONLY ON)
        target_link_libraries(orrery_precompiled_tests PRIVATE orrery_options fmt::fmt absl::flat_hash_map GTest::gmock)
        target_precompile_headers(orrery_precompiled_tests PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled_tests.h)
    endif()
endif()
function(orrery_precompile target header)
    if(ORRERY_PRECOMPILE)
        target_precompile_headers(${target} REUSE_FROM ${header})
    endif()
endfunction()

# Builds every unit test and nothing else.
add_custom_target(unit_tests)

# orrery_module(<name> DEPS <modules...> LIBS <third-party...> FOLDERS <parts of the module...>)
#   *.cc beside the CMakeLists become the static library orrery_<name>,
#   *_test.cc the test program <name>_test. tools/check_layers verifies DEPS against #includes.
function(orrery_module name)
    cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_LIBS;FOLDERS" ${ARGN})
    list(TRANSFORM ARG_FOLDERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    list(TRANSFORM ARG_FOLDERS APPEND /*.cc)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/detail/*.cc ${ARG_FOLDERS})
    set(tests ${sources})
    list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    list(TRANSFORM ARG_DEPS PREPEND orrery_)
    if(sources)
        add_library(orrery_${name} STATIC ${sources})
        target_link_libraries(orrery_${name} PUBLIC orrery_options ${ARG_DEPS} PRIVATE ${ARG_LIBS})
        orrery_precompile(orrery_${name} orrery_precompiled)
    else()
        add_library(orrery_${name} INTERFACE)
        target_link_libraries(orrery_${name} INTERFACE orrery_options ${ARG_DEPS} ${ARG_LIBS})
    endif()
    if(tests AND ORRERY_TESTS)
        find_package(GTest REQUIRED)
        add_executable(${name}_test ${tests})
        set_target_properties(${name}_test PROPERTIES ORRERY_TESTS_ONLY ON)
        target_link_libraries(${name}_test PRIVATE orrery_${name} ${ARG_LIBS} ${ARG_TEST_LIBS} GTest::gmock GTest::gtest GTest::gtest_main)
        orrery_precompile(${name}_test orrery_precompiled_tests)
        add_dependencies(unit_tests ${name}_test)
        add_test(NAME ${name} COMMAND ${name}_test)
    endif()
endfunction()
