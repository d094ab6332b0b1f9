#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <c10/core/Device.h>
#include <nlohmann/json.hpp>

// Constant arguments of a graph's nodes (the schema's type Argument). All functions throw std::runtime_error if an
// argument is damaged or of another kind.
namespace ddp::graph {

// An argument is an object with one key, its kind, such as {"as_int": 3}.
const std::string& kind_of(const nlohmann::json& argument);

const nlohmann::json& list_of(const nlohmann::json& value);
std::int64_t whole_number(const nlohmann::json& value);
double real_number(const nlohmann::json& value);
bool truth(const nlohmann::json& value);

// The type of an argument; for an optional type "T?", T.
c10::TypePtr unwrapped(c10::TypePtr type);

// Returns a constant in the form that the operator takes. Devices become `device`.
c10::IValue constant_of(const c10::Argument& wanted, const nlohmann::json& given, c10::Device device);

}  // namespace ddp::graph
