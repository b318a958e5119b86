# Installs the build tree into a scratch folder, builds the example of a kernel in a repository of its own against it, and runs it. Called with
# BUILD (the build tree), EXAMPLE (its sources), SCRATCH, CONFIG and COMPILER.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output ENCODING UTF8)
  if(status)
    message(FATAL_ERROR "${ARGN}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
# The sources move too: nothing of the example may depend on lying in Sfumato's tree.
file(COPY ${EXAMPLE}/ DESTINATION ${SCRATCH}/own)
run(${CMAKE_COMMAND} -S ${SCRATCH}/own -B ${SCRATCH}/build -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix -DCMAKE_BUILD_TYPE=${CONFIG}
    -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${CMAKE_COMMAND} -E chdir / ${SCRATCH}/build/softplus)
message("${output}")
foreach(wanted "softplus on Ascend910B2" "values      equal to the reference" "main.cpp:")
  string(FIND "${output}" "${wanted}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "the example does not print '${wanted}'")
  endif()
endforeach()
# The installed command line finds the installed chip files as well.
run(${CMAKE_COMMAND} -E chdir / ${SCRATCH}/prefix/bin/sfumato chips)
if(NOT output MATCHES "Ascend910B2")
  message(FATAL_ERROR "the installed sfumato lists no chips:\n${output}")
endif()
file(REMOVE_RECURSE ${SCRATCH})
