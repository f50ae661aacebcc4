// Package toolheader knows which arguments of a tool's calls travel in HTTP
// headers too, so that who routes a request need not read its body: since
// revision 2026-07-28 of MCP a property of a tool's inputSchema may have an
// x-mcp-header, and calls of the tool then repeat that argument in the header
// Mcp-Param-<x-mcp-header>.
//
// Read finds the annotations in the result of a tools/list, Tools remembers them,
// and a Tool says for the arguments of one call what its headers are (Headers),
// or what is wrong with those it came with (Fault).
//
// Annotations that break the rules make the definition of their tool invalid,
// which clients have to leave out of their lists. Here such a tool is one without
// annotations: its calls are not checked and get no headers. The rules are that an
// x-mcp-header is a token of RFC 9110, no two of a tool differing in case alone;
// that it is on a property of the type string, integer or boolean; and that only
// members named properties lead there from the root of the schema. So is a tool
// whose JSON has a name twice, as then its readers may differ about it.
//
// A call repeats an argument that is there and is not null. Beyond what the
// revision says of the check:
//
//   - A header whose argument is absent or null is a fault: whoever routes by it
//     would take it for the argument.
//   - An argument that has no form as a header (an object, an array, a fraction,
//     an integer that is not safe in JavaScript) may lack its header, since
//     clients leave it out, and whether the argument is good is for the tool to
//     say. A header that is there must fit all the same.
//   - A header that is there twice is a fault.
//   - Numbers are compared as numbers as far as they are safe, and beyond as text.
package toolheader
