# Compiler settings and the one way to declare a module.

find_program(ORRERY_CCACHE ccache)
if(ORRERY_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${ORRERY_CCACHE})
endif()
find_program(ORRERY_MOLD mold)
if(ORRERY_MOLD)
    add_link_options(-fuse-ld=mold)
endif()

find_package(Threads REQUIRED)

add_library(orrery_options INTERFACE)
target_compile_options(orrery_options INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Werror -fno-omit-frame-pointer
    $<$<CONFIG:Release>:-O2 -g1>)
target_include_directories(orrery_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(orrery_options INTERFACE Threads::Threads)
if(ORRERY_SANITIZE)
    target_compile_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(orrery_options INTERFACE -fsanitize=${ORRERY_SANITIZE})
    target_compile_definitions(orrery_options INTERFACE ORRERY_DCHECKS=1)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # GCC 12 reports false positives inside the standard library under sanitizers.
        target_compile_options(orrery_options INTERFACE
            -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds -Wno-restrict -Wno-tsan)
    endif()
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(orrery_options INTERFACE ORRERY_DCHECKS=1)
endif()

# orrery_module(<name> DEPS <modules...> LIBS <third-party...>)
#   *.cc beside the CMakeLists become the static library orrery_<name>,
#   *_test.cc the test program <name>_test. tools/check_layers verifies DEPS against #includes.
function(orrery_module name)
    cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_LIBS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/detail/*.cc)
    set(tests ${sources})
    list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
    list(FILTER tests INCLUDE REGEX "_test\\.cc$")
    list(TRANSFORM ARG_DEPS PREPEND orrery_)
    if(sources)
        add_library(orrery_${name} STATIC ${sources})
        target_link_libraries(orrery_${name} PUBLIC orrery_options ${ARG_DEPS} PRIVATE ${ARG_LIBS})
    else()
        add_library(orrery_${name} INTERFACE)
        target_link_libraries(orrery_${name} INTERFACE orrery_options ${ARG_DEPS} ${ARG_LIBS})
    endif()
    if(tests AND ORRERY_TESTS)
        find_package(GTest REQUIRED)
        add_executable(${name}_test ${tests})
        target_link_libraries(${name}_test PRIVATE orrery_${name} ${ARG_LIBS} ${ARG_TEST_LIBS} GTest::gmock GTest::gtest GTest::gtest_main)
        add_test(NAME ${name} COMMAND ${name}_test)
    endif()
endfunction()
