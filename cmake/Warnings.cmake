# The warnings that all of our own code is compiled with.
add_library(ddp_warnings INTERFACE)
target_compile_options(ddp_warnings INTERFACE -Wall -Wextra -Wshadow -Werror)
