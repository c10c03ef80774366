package lifecycle

// What the oracle's programs need of this package.
var OracleRemoveMissing = removeMissingExtendedResources
