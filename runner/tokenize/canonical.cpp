#include "tokenize/canonical.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "tokenize/utf8.h"

namespace ddp::tokenize {
namespace {

// Facts of the Unicode Character Database. A line of compositions is a second character, then pairs of a first
// character and the composition of both. Other pairs are decomposed, but not composed. Singles begin with a code point;
// the characters after it replace this one and the next ones. Classes are combining classes with their ranges.
constexpr std::string_view kCompositions = R"(
̀AÀEÈIÌNǸOÒUÙWẀYỲaàeèiìnǹoòuùwẁyỳ¨῭ÂẦÊỀÔỒÜǛâầêềôồüǜĂẰăằĒḔēḕŌṐōṑƠỜơờƯỪưừΑᾺΕῈΗῊΙῚΟῸΥῪΩῺαὰεὲηὴιὶοὸυὺωὼϊῒϋῢЕЀИЍеѐ
̀иѝἀἂἁἃἈἊἉἋἐἒἑἓἘἚἙἛἠἢἡἣἨἪἩἫἰἲἱἳἸἺἹἻὀὂὁὃὈὊὉὋὐὒὑὓὙὛὠὢὡὣὨὪὩὫ᾿῍῾῝
́AÁCĆEÉGǴIÍKḰLĹMḾNŃOÓPṔRŔSŚUÚWẂYÝZŹaácćeégǵiíkḱlĺmḿnńoópṕrŕsśuúwẃyýzź¨΅ÂẤÅǺÆǼÇḈÊẾÏḮÔỐÕṌØǾÜǗâấåǻæǽçḉêếïḯôốõṍøǿ
́üǘĂẮăắĒḖēḗŌṒōṓŨṸũṹƠỚơớƯỨưứΑΆΕΈΗΉΙΊΟΌΥΎΩΏαάεέηήιίοόυύωώϊΐϋΰϒϓГЃКЌгѓкќἀἄἁἅἈἌἉἍἐἔἑἕἘἜἙἝἠἤἡἥἨἬἩἭἰἴἱἵἸἼἹἽὀὄὁὅὈὌὉὍ
́ὐὔὑὕὙὝὠὤὡὥὨὬὩὭ᾿῎῾῞
̂AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶZẐaâcĉeêgĝhĥiîjĵoôsŝuûwŵyŷzẑẠẬạậẸỆẹệỌỘọộ
̃AÃEẼIĨNÑOÕUŨVṼYỸaãeẽiĩnñoõuũvṽyỹÂẪÊỄÔỖâẫêễôỗĂẴăẵƠỠơỡƯỮưữ
̄AĀEĒGḠIĪOŌUŪYȲaāeēgḡiīoōuūyȳÄǞÆǢÕȬÖȪÜǕäǟæǣõȭöȫüǖǪǬǫǭȦǠȧǡȮȰȯȱΑᾹΙῙΥῩαᾱιῑυῡИӢУӮиӣуӯḶḸḷḹṚṜṛṝ
̆AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭȨḜȩḝΑᾸΙῘΥῨαᾰιῐυῠАӐЕӖЖӁИЙУЎаӑеӗжӂийуўẠẶạặ
̇AȦBḂCĊDḊEĖFḞGĠHḢIİMṀNṄOȮPṖRṘSṠTṪWẆXẊYẎZŻaȧbḃcċdḋeėfḟgġhḣmṁnṅoȯpṗrṙsṡtṫwẇxẋyẏzżŚṤśṥŠṦšṧſẛṢṨṣṩ
̈AÄEËHḦIÏOÖUÜWẄXẌYŸaäeëhḧiïoötẗuüwẅxẍyÿÕṎõṏŪṺūṻΙΪΥΫιϊυϋϒϔІЇАӒЕЁЖӜЗӞИӤОӦУӰЧӴЫӸЭӬаӓеёжӝзӟиӥоӧуӱчӵыӹэӭіїӘӚәӛӨӪөӫ
̉AẢEẺIỈOỎUỦYỶaảeẻiỉoỏuủyỷÂẨÊỂÔỔâẩêểôổĂẲăẳƠỞơởƯỬưử
̊AÅUŮaåuůwẘyẙ
̋OŐUŰoőuűУӲуӳ
̌AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeěgǧhȟiǐjǰkǩlľnňoǒrřsštťuǔzžÜǙüǚƷǮʒǯ
̏AȀEȄIȈOȌRȐUȔaȁeȅiȉoȍrȑuȕѴѶѵѷ
̑AȂEȆIȊOȎRȒUȖaȃeȇiȋoȏrȓuȗ
̓ΑἈΕἘΗἨΙἸΟὈΩὨαἀεἐηἠιἰοὀρῤυὐωὠ
̔ΑἉΕἙΗἩΙἹΟὉΡῬΥὙΩὩαἁεἑηἡιἱοὁρῥυὑωὡ
̛OƠUƯoơuư
̣AẠBḄDḌEẸHḤIỊKḲLḶMṂNṆOỌRṚSṢTṬUỤVṾWẈYỴZẒaạbḅdḍeẹhḥiịkḳlḷmṃnṇoọrṛsṣtṭuụvṿwẉyỵzẓƠỢơợƯỰưự
̤UṲuṳ
̥AḀaḁ
̦SȘTȚsștț
̧CÇDḐEȨGĢHḨKĶLĻNŅRŖSŞTŢcçdḑeȩgģhḩkķlļnņrŗsştţ
̨AĄEĘIĮOǪUŲaąeęiįoǫuų
̭DḒEḘLḼNṊTṰUṶdḓeḙlḽnṋtṱuṷ
̮HḪhḫ
̰EḚIḬUṴeḛiḭuṵ
̱BḆDḎKḴLḺNṈRṞTṮZẔbḇdḏhẖkḵlḻnṉrṟtṯzẕ
̸<≮=≠>≯←↚→↛↔↮⇐⇍⇒⇏⇔⇎∃∄∈∉∋∌∣∤∥∦∼≁≃≄≅≇≈≉≍≭≡≢≤≰≥≱≲≴≳≵≶≸≷≹≺⊀≻⊁≼⋠≽⋡⊂⊄⊃⊅⊆⊈⊇⊉⊑⋢⊒⋣⊢⊬⊨⊭⊩⊮⊫⊯⊲⋪⊳⋫⊴⋬⊵⋭
͂¨῁αᾶηῆιῖυῦωῶϊῗϋῧἀἆἁἇἈἎἉἏἠἦἡἧἨἮἩἯἰἶἱἷἸἾἹἿὐὖὑὗὙὟὠὦὡὧὨὮὩὯ᾿῏῾῟
ͅΑᾼΗῌΩῼάᾴήῄαᾳηῃωῳώῴἀᾀἁᾁἂᾂἃᾃἄᾄἅᾅἆᾆἇᾇἈᾈἉᾉἊᾊἋᾋἌᾌἍᾍἎᾎἏᾏἠᾐἡᾑἢᾒἣᾓἤᾔἥᾕἦᾖἧᾗἨᾘἩᾙἪᾚἫᾛἬᾜἭᾝἮᾞἯᾟὠᾠὡᾡὢᾢὣᾣὤᾤὥᾥὦᾦὧᾧὨᾨὩᾩὪᾪὫᾫὬᾬ
ͅὭᾭὮᾮὯᾯὰᾲὴῂὼῲᾶᾷῆῇῶῷ
ٓاآ
ٔاأوؤيئہۂےۓەۀ
ٕاإ
़नऩरऱळऴ
ােো
ৗেৌ
ାେୋ
ୖେୈ
ୗେୌ
ாெொேோ
ௗஒஔெௌ
ౖెై
ೂೆೊ
ೕಿೀೆೇೊೋ
ೖೆೈ
ാെൊേോ
ൗെൌ
්ෙේොෝ
ාෙො
ෟෙෞ
ီဥဦ
ᬵᬅᬆᬇᬈᬉᬊᬋᬌᬍᬎᬑᬒᬺᬻᬼᬽᬾᭀᬿᭁᭂᭃ
゙うゔかがきぎくぐけげこごさざしじすずせぜそぞただちぢつづてでとどはばひびふぶへべほぼゝゞウヴカガキギクグケゲ
゙コゴサザシジスズセゼソゾタダチヂツヅテデトドハバヒビフブヘベホボワヷヰヸヱヹヲヺヽヾ
゚はぱひぴふぷへぺほぽハパヒピフプヘペホポ
𑂺𑂙𑂚𑂛𑂜𑂥𑂫
𑄧𑄱𑄮𑄲𑄯
𑌾𑍇𑍋
𑍗𑍇𑍌
𑒰𑒹𑒼
𑒺𑒹𑒻
𑒽𑒹𑒾
𑖯𑖸𑖺𑖹𑖻
)";
constexpr std::string_view kOtherPairs = R"(
344=308,301 958=915,93C 959=916,93C 95A=917,93C 95B=91C,93C 95C=921,93C 95D=922,93C 95E=92B,93C 95F=92F,93C
9DC=9A1,9BC 9DD=9A2,9BC 9DF=9AF,9BC A33=A32,A3C A36=A38,A3C A59=A16,A3C A5A=A17,A3C A5B=A1C,A3C A5E=A2B,A3C
B5C=B21,B3C B5D=B22,B3C F43=F42,FB7 F4D=F4C,FB7 F52=F51,FB7 F57=F56,FB7 F5C=F5B,FB7 F69=F40,FB5 F73=F71,F72
F75=F71,F74 F76=FB2,F80 F78=FB3,F80 F81=F71,F80 F93=F92,FB7 F9D=F9C,FB7 FA2=FA1,FB7 FA7=FA6,FB7 FAC=FAB,FB7
FB9=F90,FB5 2ADC=2ADD,338 FB1D=5D9,5B4 FB1F=5F2,5B7 FB2A=5E9,5C1 FB2B=5E9,5C2 FB2C=FB49,5C1 FB2D=FB49,5C2
FB2E=5D0,5B7 FB2F=5D0,5B8 FB30=5D0,5BC FB31=5D1,5BC FB32=5D2,5BC FB33=5D3,5BC FB34=5D4,5BC FB35=5D5,5BC
FB36=5D6,5BC FB38=5D8,5BC FB39=5D9,5BC FB3A=5DA,5BC FB3B=5DB,5BC FB3C=5DC,5BC FB3E=5DE,5BC FB40=5E0,5BC
FB41=5E1,5BC FB43=5E3,5BC FB44=5E4,5BC FB46=5E6,5BC FB47=5E7,5BC FB48=5E8,5BC FB49=5E9,5BC FB4A=5EA,5BC
FB4B=5D5,5B9 FB4C=5D1,5BF FB4D=5DB,5BF FB4E=5E4,5BF 1D15E=1D157,1D165 1D15F=1D158,1D165 1D160=1D15F,1D16E
1D161=1D15F,1D16F 1D162=1D15F,1D170 1D163=1D15F,1D171 1D164=1D15F,1D172 1D1BB=1D1B9,1D165 1D1BC=1D1BA,1D165
1D1BD=1D1BB,1D16E 1D1BE=1D1BC,1D16E 1D1BF=1D1BB,1D16F 1D1C0=1D1BC,1D16F)";
constexpr std::string_view kSingles = R"(
340:̀́ 343:̓ 374:ʹ 37E:; 387:· 1F71:ά 1F73:έ 1F75:ή 1F77:ί 1F79:ό 1F7B:ύ 1F7D:ώ 1FBB:Ά 1FBE:ι 1FC9:Έ 1FCB:Ή
1FD3:ΐ 1FDB:Ί 1FE3:ΰ 1FEB:Ύ 1FEE:΅` 1FF9:Ό 1FFB:Ώ 1FFD:´ 2000:   2126:Ω 212A:KÅ 2329:〈〉 F900:豈更車賈滑串句龜
F908:龜契金喇奈懶癩羅蘿螺裸邏樂洛烙珞落酪駱亂卵欄爛蘭鸞嵐濫藍襤拉臘蠟廊朗浪狼郎來冷勞擄櫓爐盧老蘆虜路露魯鷺碌祿
F93D:綠菉錄鹿論壟弄籠聾牢磊賂雷壘屢樓淚漏累縷陋勒肋凜凌稜綾菱陵讀拏樂諾丹寧怒率異北磻便復不泌數索參塞省葉說殺辰
F972:沈拾若掠略亮兩凉梁糧良諒量勵呂女廬旅濾礪閭驪麗黎力曆歷轢年憐戀撚漣煉璉秊練聯輦蓮連鍊列劣咽烈裂說廉念捻殮簾
F9A7:獵令囹寧嶺怜玲瑩羚聆鈴零靈領例禮醴隸惡了僚寮尿料樂燎療蓼遼龍暈阮劉杻柳流溜琉留硫紐類六戮陸倫崙淪輪律慄栗率
F9DC:隆利吏履易李梨泥理痢罹裏裡里離匿溺吝燐璘藺隣鱗麟林淋臨立笠粒狀炙識什茶刺切度拓糖宅洞暴輻行降見廓兀嗀
FA10:塚 FA12:晴 FA15:凞猪益礼神祥福靖精羽 FA20:蘒 FA22:諸 FA25:逸都 FA2A:飯飼館鶴郞隷侮僧免勉勤卑喝嘆器塀墨層屮
FA3D:悔慨憎懲敏既暑梅海渚漢煮爫琢碑社祉祈祐祖祝禍禎穀突節練縉繁署者臭艹艹著褐視謁謹賓贈辶逸難響頻恵𤋮舘 FA70:並
FA71:况全侀充冀勇勺喝啕喙嗢塚墳奄奔婢嬨廒廙彩徭惘慎愈憎慠懲戴揄搜摒敖晴朗望杖歹殺流滛滋漢瀞煮瞧爵犯猪瑱甆画瘝瘟
FAA6:益盛直睊着磌窱節类絛練缾者荒華蝹襁覆視調諸請謁諾諭謹變贈輸遲醙鉶陼難靖韛響頋頻鬒龜𢡊𢡄𣏕㮝䀘䀹𥉉𥳐𧻓齃龎
2F800:丽丸乁𠄢你侮侻倂偺備僧像㒞𠘺免兔兤具𠔜㒹內再𠕋冗冤仌冬况𩇟凵刃㓟刻剆割剷㔕勇勉勤勺包匆北卉卑博即卽卿卿卿𠨬
2F835:灰及叟𠭣叫叱吆咞吸呈周咢哶唐啓啣善善喙喫喳嗂圖嘆圗噑噴切壮城埴堍型堲報墬𡓤売壷夆多夢奢𡚨𡛪姬娛娧姘婦㛮㛼嬈
2F86A:嬾嬾𡧈寃寘寧寳𡬘寿将当尢㞁屠屮峀岍𡷤嵃𡷦嵮嵫嵼巡巢㠯巽帨帽幩㡢𢆃㡼庰庳庶廊𪎒廾𢌱𢌱舁弢弢㣇𣊸𦇚形彫㣣徚忍志
2F89F:忹悁㤺㤜悔𢛔惇慈慌慎慌慺憎憲憤憯懞懲懶成戛扝抱拔捐𢬌挽拼捨掃揤𢯱搢揅掩㨮摩摾撝摷㩬敏敬𣀊旣書晉㬙暑㬈㫤冒冕
2F8D4:最暜肭䏙朗望朡杞杓𣏃㭉柺枅桒梅𣑭梎栟椔㮝楂榣槪檨𣚣櫛㰘次𣢧歔㱎歲殟殺殻𣪍𡴋𣫺汎𣲼沿泍汧洖派海流浩浸涅𣴞洴港
2F909:湮㴳滋滇𣻑淹潮𣽞𣾎濆瀹瀞瀛㶖灊災灷炭𠔥煅𤉣熜𤎫爨爵牐𤘈犀犕𤜵𤠔獺王㺬玥㺸㺸瑇瑜瑱璅瓊㼛甤𤰶甾𤲒異𢆟瘐𤾡𤾸𥁄
2F93E:㿼䀈直𥃳𥃲𥄙𥄳眞真真睊䀹瞋䁆䂖𥐝硎碌磌䃣𥘦祖𥚚𥛅福秫䄯穀穊穏𥥼𥪧𥪧竮䈂𥮫篆築䈧𥲀糒䊠糨糣紀𥾆絣䌁緇縂繅䌴𦈨
2F973:𦉇䍙𦋙罺𦌾羕翺者𦓚𦔣聠𦖨聰𣍟䏕育脃䐋脾媵𦞧𦞵𣎓𣎜舁舄辞䑫芑芋芝劳花芳芽苦𦬼若茝荣莭茣莽菧著荓菊菌菜𦰶𦵫𦳕䔫
2F9A8:蓱蓳蔖𧏊蕤𦼬䕝䕡𦾱𧃒䕫虐虜虧虩蚩蚈蜎蛢蝹蜨蝫螆䗗蟡蠁䗹衠衣𧙧裗裞䘵裺㒻𧢮𧥦䚾䛇誠諭變豕𧲨貫賁贛起𧼯𠠄跋趼跰
2F9DD:𠣞軔輸𨗒𨗭邔郱鄑𨜮鄛鈸鋗鋘鉼鏹鐕𨯺開䦕閷𨵷䧦雃嶲霣𩅅𩈚䩮䩶韠𩐊䪲𩒖頋頋頩𩖶飢䬳餩馧駂駾䯎𩬰鬒鱀鳽䳎䳭鵧𪃎䳸
2FA12:𪄅𪈎𪊑麻䵖黹黾鼅鼏鼖鼻𪘀)";
constexpr std::string_view kClasses = R"(
1:334-338,1CD4,1CE2-1CE8,20D2-20D3,20D8-20DA,20E5-20E6,20EA-20EB,10A39,16AF0-16AF4,1BC9E,1D167-1D169 7:93C,9BC,
A3C,ABC,B3C,CBC,1037,1B34,1BE6,1C37,A9B3,110BA,11173,111CA,11236,112E9,1133C,11446,114C3,115C0,116B7,1E94A
8:3099-309A 9:94D,9CD,A4D,ACD,B4D,BCD,C4D,CCD,D4D,DCA,E3A,F84,1039-103A,1714,1734,17D2,1A60,1B44,1BAA-1BAB,
1BF2-1BF3,2D7F,A806,A8C4,A953,A9C0,AAF6,ABED,10A3F,11046,1107F,110B9,11133-11134,111C0,11235,112EA,1134D,11442,
114C2,115BF,1163F,116B6,1172B,11C3F 10:5B0 11:5B1 12:5B2 13:5B3 14:5B4 15:5B5 16:5B6 17:5B7 18:5B8,5C7 19:5B9-5BA
20:5BB 21:5BC 22:5BD 23:5BF 24:5C1 25:5C2 26:FB1E 27:64B,8F0 28:64C,8F1 29:64D,8F2 30:618,64E 31:619,64F 32:61A,
650 33:651 34:652 35:670 36:711 84:C55 91:C56 103:E38-E39 107:E48-E4B 118:EB8-EB9 122:EC8-ECB 129:F71 130:F72,
F7A-F7D,F80 132:F74 202:321-322,327-328,1DD0 214:1DCE 216:31B,F39,1D165-1D166,1D16E-1D172 218:302A 220:316-319,
31C-320,323-326,329-333,339-33C,347-349,34D-34E,353-356,359-35A,591,596,59B,5A2-5A7,5AA,5C5,655-656,65C,65F,6E3,
6EA,6ED,731,734,737-739,73B-73C,73E,742,744,746,748,7F2,859-85B,8E3,8E6,8E9,8ED-8EF,8F6,8F9-8FA,952,F18-F19,F35,
F37,FC6,108D,193B,1A18,1A7F,1AB5-1ABA,1ABD,1B6C,1CD5-1CD9,1CDC-1CDF,1CED,1DC2,1DCA,1DCF,1DFD,1DFF,20E8,20EC-20EF,
A92B-A92D,AAB4,FE27-FE2D,101FD,102E0,10A0D,10A3A,10AE6,1D17B-1D182,1D18A-1D18B,1E8D0-1E8D6 222:59A,5AD,1939,302D
224:302E-302F 226:1D16D 228:5AE,18A9,302B 230:300-314,33D-344,346,34A-34C,350-352,357,35B,363-36F,483-487,592-595,
597-599,59C-5A1,5A8-5A9,5AB-5AC,5AF,5C4,610-617,653-654,657-65B,65D-65E,6D6-6DC,6DF-6E2,6E4,6E7-6E8,6EB-6EC,730,
732-733,735-736,73A,73D,73F-741,743,745,747,749-74A,7EB-7F1,7F3,816-819,81B-823,825-827,829-82D,8D4-8E1,8E4-8E5,
8E7-8E8,8EA-8EC,8F3-8F5,8F7-8F8,8FB-8FF,951,953-954,F82-F83,F86-F87,135D-135F,17DD,193A,1A17,1A75-1A7C,1AB0-1AB4,
1ABB-1ABC,1B6B,1B6D-1B73,1CD0-1CD2,1CDA-1CDB,1CE0,1CF4,1CF8-1CF9,1DC0-1DC1,1DC3-1DC9,1DCB-1DCC,1DD1-1DF5,1DFB,
1DFE,20D0-20D1,20D4-20D7,20DB-20DC,20E1,20E7,20E9,20F0,2CEF-2CF1,2DE0-2DFF,A66F,A674-A67D,A69E-A69F,A6F0-A6F1,
A8E0-A8F1,AAB0,AAB2-AAB3,AAB7-AAB8,AABE-AABF,AAC1,FE20-FE26,FE2E-FE2F,10376-1037A,10A0F,10A38,10AE5,11100-11102,
11366-1136C,11370-11374,16B30-16B36,1D185-1D189,1D1AA-1D1AD,1D242-1D244,1E000-1E006,1E008-1E018,1E01B-1E021,
1E023-1E024,1E026-1E02A,1E944-1E949 232:315,31A,358,302C 233:35C,35F,362,1DFC 234:35D-35E,360-361,1DCD 240:345)";

// Hangul syllables are composed by arithmetic: 21 vowels, and 28 final consonants, of which the first is none.
constexpr char32_t kSyllable = 0xAC00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11A7;
constexpr char32_t kLeads = 19, kVowels = 21, kTails = 28;

struct CanonicalTable {
  std::unordered_map<char32_t, std::pair<char32_t, char32_t>> parts;  // second: 0 if there is one
  std::map<std::pair<char32_t, char32_t>, char32_t> wholes;
  std::unordered_map<char32_t, int> classes;  // without class 0

  CanonicalTable() {
    // Each text begins with a line feed.
    for (std::size_t place = 1; place < kCompositions.size(); ++place) {
      const char32_t second = next_code_point(kCompositions, place);
      while (kCompositions[place] != '\n') {
        const char32_t first = next_code_point(kCompositions, place);
        const char32_t whole = next_code_point(kCompositions, place);
        parts[whole] = {first, second};
        wholes[{first, second}] = whole;
      }
    }
    for (std::size_t place = 1; place < kOtherPairs.size(); ++place) {
      const char32_t whole = number(kOtherPairs, place, 16);
      const char32_t first = number(kOtherPairs, ++place, 16);
      parts[whole] = {first, number(kOtherPairs, ++place, 16)};
    }
    for (std::size_t place = 1; place < kSingles.size(); ++place) {
      char32_t whole = number(kSingles, place, 16);
      for (++place; place < kSingles.size() && kSingles[place] != ' ' && kSingles[place] != '\n'; ++whole) {
        parts[whole] = {next_code_point(kSingles, place), 0};
      }
    }
    int of_range = 0;
    for (std::size_t place = 1; place < kClasses.size(); ++place) {
      if (const auto colon = kClasses.find_first_of(":,- \n", place);
          colon != kClasses.npos && kClasses[colon] == ':') {
        of_range = static_cast<int>(number(kClasses, place, 10));
        ++place;
      }
      const char32_t first = number(kClasses, place, 16);
      const bool range = place < kClasses.size() && kClasses[place] == '-';
      const char32_t last = range ? number(kClasses, ++place, 16) : first;
      for (char32_t point = first; point <= last; ++point) classes[point] = of_range;
    }
  }

  // Reads digits and moves `place` past them.
  static char32_t number(std::string_view text, std::size_t& place, int base) {
    std::uint32_t value = 0;
    const char* const begin = text.data() + place;
    place += static_cast<std::size_t>(std::from_chars(begin, text.data() + text.size(), value, base).ptr - begin);
    return value;
  }

  int class_of(char32_t point) const {
    const auto found = classes.find(point);
    return found == classes.end() ? 0 : found->second;
  }

  void decompose(char32_t point, std::u32string& out) const {
    if (const char32_t i = point - kSyllable; i < kLeads * kVowels * kTails) {
      out += {kLead + i / (kVowels * kTails), kVowel + i / kTails % kVowels};
      if (i % kTails != 0) out += kTail + i % kTails;
    } else if (const auto found = parts.find(point); found != parts.end()) {
      decompose(found->second.first, out);
      if (found->second.second != 0) decompose(found->second.second, out);
    } else {
      out += point;
    }
  }

  // 0: the characters have no composition.
  char32_t compose(char32_t first, char32_t second) const {
    if (first - kLead < kLeads && second - kVowel < kVowels) {
      return kSyllable + ((first - kLead) * kVowels + (second - kVowel)) * kTails;
    }
    const char32_t i = first - kSyllable;
    if (i < kLeads * kVowels * kTails && i % kTails == 0 && second > kTail && second < kTail + kTails) {
      return first + (second - kTail);
    }
    const auto found = wholes.find({first, second});
    return found == wholes.end() ? 0 : found->second;
  }

  // Sorts runs of combining characters by their classes.
  void reorder(std::u32string& points) const {
    for (auto begin = points.begin(); begin != points.end();) {
      const auto end = std::find_if(begin, points.end(), [&](char32_t point) { return class_of(point) == 0; });
      std::stable_sort(begin, end, [&](char32_t a, char32_t b) { return class_of(a) < class_of(b); });
      begin = end == points.end() ? end : end + 1;
    }
  }

  // A character joins the last one of class 0 unless another one between them has its class or a higher one.
  void compose_all(std::u32string& points) const {
    std::size_t size = 0, starter = std::u32string::npos;
    int last = 0;
    for (const char32_t point : points) {
      const int its = class_of(point);
      const bool joins = starter != std::u32string::npos && (starter + 1 == size || last < its);
      if (const char32_t whole = joins ? compose(points[starter], point) : 0; whole != 0) {
        points[starter] = whole;
        continue;
      }
      if (its == 0) starter = size;
      last = its;
      points[size++] = point;
    }
    points.resize(size);
  }
};

}  // namespace

std::string canonical(std::string_view text, bool composed) {
  static const CanonicalTable table;
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  std::string out;
  out.reserve(text.size());
  std::u32string points;
  // ASCII characters have class 0 and join no character before them: each begins a part of its own.
  for (std::size_t place = 0; place < text.size();) {
    const auto other = std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(place), text.end(), is_ascii);
    std::size_t begin = static_cast<std::size_t>(other - text.begin());
    if (begin < text.size() && begin > place) --begin;
    out += text.substr(place, begin - place);
    points.clear();
    for (place = begin; place < text.size() && (place == begin || !is_ascii(text[place]));) {
      table.decompose(next_code_point(text, place), points);
    }
    table.reorder(points);
    if (composed) table.compose_all(points);
    for (const char32_t point : points) append_utf8(point, out);
  }
  return out;
}

}  // namespace ddp::tokenize
