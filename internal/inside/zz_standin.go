package inside

const reasonInputRequired = "input-required"
