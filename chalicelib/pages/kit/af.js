// Die Afrikaanse woorde van die dele wat albei bladsye het.
import { ErrorCode } from "./error_codes.js";

export const af = {
  language: "Afrikaans",
  chooseLanguage: "Taal",
  loading: "Laai…",
  retry: "Probeer weer",
  cancel: "Kanselleer",
  done: "Klaar",
  errors: {
    noAnswer: "Die diens het nie geantwoord nie. Kyk na die verbinding en probeer weer.",
    blocked:
      "Hierdie blaaier blokkeer koekies en gestoorde data, dus kan die bladsy nie werk nie. Laat albei in sy instellings vir hierdie adres toe, en maak die bladsy dan weer oop.",
    field: "Dit kan nie hier gebruik word nie.",
    checks: {
      1: "Dit is nodig.",
      3: "Dit is nie in die regte vorm nie.",
      4: "Dit is te lank.",
      5: "Dit is buite die perke van hierdie veld.",
      7: "Dit het te veel desimale.",
      12: "Dit pas nie by die ander inskrywings nie.",
    },
    codes: {
      [ErrorCode.BAD_CREDENTIAL]: "Die e-pos of wagwoord is verkeerd.",
      [ErrorCode.AGENT_BLOCKED]: "Hierdie aanmelding is geblokkeer. Vra 'n administrateur van die winkel.",
      [ErrorCode.LOGIN_LOCKED]:
        "Hierdie aanmelding is ná verkeerde wagwoorde gesluit. Wag 30 minute, of vra 'n administrateur van die winkel.",
      [ErrorCode.MERCHANT_BLOCKED]: "Die winkel is geblokkeer. Vra die ondersteuning van hierdie diens.",
      [ErrorCode.VALIDATION_FAILED]: "Iets wat ingetik is, kan nie gebruik word nie. Verander dit en probeer weer.",
      [ErrorCode.EMAIL_TAKEN]: "'n Ander aanmelding het reeds hierdie e-pos.",
      [ErrorCode.ORIGINAL_UNFINISHED]: "Hierdie betaling is nie afgehandel nie, of geen geld het beweeg nie.",
      [ErrorCode.THROTTLED]: "Te veel versoeke. Wag 'n oomblik en probeer weer.",
      [ErrorCode.INTERNAL]: "Iets het in die diens verkeerd gegaan. Probeer weer.",
      [ErrorCode.DEPENDENCY_UNAVAILABLE]:
        "Die bank kan nie nou bereik word nie, en niks is gedoen nie. Probeer oor 'n oomblik weer.",
      [ErrorCode.STORE_UNAVAILABLE]: "Die diens kan nie nou sy data bereik nie. Probeer oor 'n oomblik weer.",
    },
  },
  send: {
    open: "Stuur kwitansie",
    email: "E-pos",
    phone: "Telefoon",
    button: "Stuur",
    busy: "Stuur tans…",
    sent: (addresses) => `Die kwitansie is gestuur na ${addresses}.`,
    checks: {
      1: "Tik 'n e-posadres of 'n telefoonnommer.",
      5: "Niks is daarheen gestuur nie: die diens stuur geen kwitansies na hierdie adres nie, of vandag nie meer nie.",
    },
  },
  return: {
    open: "Gee terug…",
    title: "Gee terug",
    remains: (amount) => `${amount} kan teruggegee word.`,
    amount: "Bedrag",
    noAmount: "Tik 'n bedrag, soos 12,30.",
    problems: {
      tooSmall: "Tik 'n bedrag bo nul.",
      tooMuch: (amount) => `Hoogstens ${amount} kan teruggegee word.`,
      decimals: (digits) => (digits ? `Tik hoogstens ${digits} desimale.` : "Tik 'n bedrag sonder desimale."),
    },
    reason: "Rede (opsioneel)",
    reasonHint: "Dit staan ook op die klant se kwitansie.",
    button: (amount) => (amount ? `Gee ${amount} terug` : "Gee terug"),
    nothingLeft: "Niks meer is teruggegee nie: 'n ander teruggawe het intussen alles teruggegee.",
    lessLeft: (amount) => `Niks is teruggegee nie, want die betaling het intussen verander. Nou bly ${amount} oor.`,
    busy: "Besig…",
    again: (amount) =>
      `'n Teruggawe van ${amount} is reeds gestuur. As jy dit weer stuur, word die geld net een keer teruggegee.`,
    lost: (amount) =>
      `'n Teruggawe van ${amount} is gestuur, en die uitslag is nie bekend nie. Stuur dit weer om die uitslag te kry: die geld word net een keer teruggegee.`,
    ask: "Stuur weer",
    done: (amount) => `${amount} is teruggegee.`,
    byHand: {
      7: "Die geld moet op die ander terminaal teruggegee word: hier word dit net aangeteken.",
      8: "Geen kontant word uitbetaal nie: die geld gaan terug by wat die klant vooruit betaal het.",
      9: "Geen kontant word uitbetaal nie: die klant skuld soveel minder.",
      10: "Neem die kontant uit jou eie laai: die teruggawe tel daar.",
    },
    unknown: (amount) => `Die bank het nog nie gesê of ${amount} teruggegee is nie. Moenie dit weer teruggee nie.`,
    declined: (message) => `Niks is teruggegee nie. ${message}`,
  },
  drawer: {
    float: "Wisselgeld",
    cash: "Kontant ontvang, min teruggegee",
    paidIn: "Ingesit",
    paidOut: "Uitgehaal",
    expected: "Verwag",
    counted: "Getel",
    difference: "Verskil",
    outside: "Geen oop laai het hierdie kontant gehou nie.",
    by: (id) => `deur agent ${id}`,
    kinds: { open: "oopgemaak", in: "ingesit", out: "uitgehaal", close: "getel", note: "nota" },
  },
};
