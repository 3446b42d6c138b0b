// Offers the browser's list of time zones where one is asked for.
"use strict";
(() => {
  const zones = document.getElementById("zones");
  if (!zones || !Intl.supportedValuesOf) return;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const name of [own, ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== own)]) {
    const choice = document.createElement("option");
    choice.value = name;
    zones.append(choice);
  }
})();
