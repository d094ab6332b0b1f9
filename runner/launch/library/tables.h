#pragma once

namespace ddp::launch {

// Makes sure that what reads tables (libddp_tables.so, and Arrow) is on this machine: for an experiment that names a
// table. In a checkout scripts/ddp-exp fetches and builds it, which takes about a minute once; its words go to stderr.
// Throws ddp::Error (usage) where that fails, and for an installed program that has none.
void obtain_tables();

}  // namespace ddp::launch
